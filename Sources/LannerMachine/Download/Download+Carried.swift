// Transports that hand over a finished file hold the bytes themselves until then. What they leave when they are stopped,
// their resume data, is kept with the record, and is what the next attempt begins with.

/// What a transport holds of a file.
struct Carried: Sendable, Hashable {
    /// What it left when it last was stopped.
    private(set) var data: ResumeData?
    /// How many bytes it holds.
    private(set) var held: Int64 = 0
    /// The exchange that brings them, once its answer was found good; nil when what it leaves is of no use to another,
    /// because it was asked for a part only.
    var exchange: ExchangeNumber?
    /// Whether that exchange has used the data up.
    private(set) var isSpent = false
    /// Where its answer goes on, as long as nothing has shown that this is where the data end. With a gap in between, what
    /// is left of it would have the size of the file in the end, and not its bytes.
    private(set) var joint: Int64?

    init(_ data: ResumeData? = nil) {
        self.data = data
        held = data?.held ?? 0
    }

    /// An answer goes on with the data at a position of the file.
    mutating func join(at position: Int64) {
        isSpent = true
        joint = data?.held == position ? nil : position
    }

    /// It holds more. Before the first new byte it tells what the data stand for; says whether that is news.
    mutating func hold(_ count: Int64) -> Bool {
        held = max(held, count)
        guard count == joint else { return false }
        joint = nil
        data?.held = count
        return true
    }

    /// It has left data for what it holds.
    mutating func keep(_ bytes: [UInt8]) {
        guard joint == nil else { return }
        data = ResumeData(bytes, held: held)
        isSpent = false
    }

    /// The exchange is over: what it left data for is all that there is.
    mutating func settle(isOfUse: Bool) {
        self = Carried(isSpent || !isOfUse ? nil : data)
    }

    /// Nothing of it counts any more; the exchange may go on.
    mutating func drop() {
        data = nil
        held = 0
        isSpent = false
        joint = nil
    }
}

extension Download {
    mutating func holds(_ number: ExchangeNumber, _ count: Int64, _ context: inout Context) {
        switch state {
        case .transferring(var transfer):
            guard let index = transfer.exchanges.firstIndex(where: { $0.number == number && $0.isAccepted }) else {
                return ignore(.unknownExchange(number), &context)
            }
            guard count > transfer.exchanges[index].held else { return }
            transfer.exchanges[index].held = count
            transfer.lastAdvance = context.now
            transfer.held = max(transfer.held, count)
            state = .transferring(transfer)
            if number == carried.exchange { hold(count, &context) }
        case .pausing where number == carried.exchange: hold(count, &context)
        case .pausing, .waiting, .opening, .verifying, .publishing, .suspended, .failed, .succeeded:
            ignore(.unknownExchange(number), &context)
        }
    }

    private mutating func hold(_ count: Int64, _ context: inout Context) {
        // A later process may take the exchange up, and is not told that again.
        if carried.hold(min(count, total ?? .max)) { record(.status, &context) }
        noteGain(carried.held)
    }

    mutating func resumeData(_ number: ExchangeNumber, _ bytes: [UInt8], _ context: inout Context) {
        guard number == carried.exchange else { return ignore(.unknownExchange(number), &context) }
        switch state {
        case .opening, .transferring, .pausing: carried.keep(bytes)
        case .waiting, .verifying, .publishing, .suspended, .failed, .succeeded:
            ignore(.late("resumeData"), &context)
        }
    }

    /// An exchange of an earlier process, which nobody here has taken up, has left this.
    mutating func inherit(_ legacy: Legacy, _ context: inout Context) {
        switch state {
        case .waiting, .suspended:
            guard written.isEmpty, legacy.held ?? 0 >= 0 else { return ignore(.late("inherit"), &context) }
            let before = carried.held
            carried = Carried(legacy.data(after: carried.data))
            if carried.held < before { tell(.restarted(.cannotResume), &context) }
            noteGain(carried.held)
            tell(.progress(completed: completed, total: total), &context)
            record(.status, &context)
        case .opening, .transferring, .pausing, .verifying, .publishing, .failed, .succeeded:
            // Also after a failure: the record of that does not name the exchange any more.
            ignore(.late("inherit"), &context)
        }
    }
}
