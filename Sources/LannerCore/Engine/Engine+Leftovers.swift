import Foundation
import LannerMachine

// Downloads that were canceled and keep their bytes: nobody sees them, their records and partial files stay, and the next
// download of the same key takes both over, number and all.

/// What a canceled download has left to the next one of its identity.
struct Leftover: Sendable {
    var id: DownloadID
    var token: UInt64
    /// Where the bytes are from.
    var url: URL
    var saved: Saved
    /// The last attempt, if it was made by this process.
    var attempt: Attempt = 0
    /// The number of the last exchange: what may be left of that is not the next one's.
    var lastSerial: UInt64

    /// What the machine is to know of the download that takes it over.
    func saved(for url: URL, isUnstarted: Bool) -> Saved {
        var saved = saved
        saved.isLeftover = false
        saved.isUnstarted = isUnstarted
        // The one that takes it over brings mirrors of its own.
        saved.isOfOtherURL = saved.isOfOtherURL || url != self.url || saved.source > 0
        saved.source = 0
        return saved
    }
}

extension Leftover {
    fileprivate var partialName: PartialName { PartialName(token: token, id: id, generation: saved.generation) }

    /// Reads what an earlier process has left; nil when that makes no sense.
    init?(_ record: DownloadRecord, boot: String?) {
        guard let url = URL(string: record.url) else { return nil }
        self.init(
            id: record.id, token: record.token, url: url, saved: record.saved(in: boot), lastSerial: record.lastSerial)
    }
}

extension Engine {
    /// Forgets leftovers that nobody is to take over, and removes their files. One that is still on record after a crash
    /// finds out when its file is opened.
    func drop(_ leftovers: [Leftover]) {
        guard !leftovers.isEmpty else { return }
        forget(leftovers.map { DownloadRecord.key($0.id) })
        remove(leftovers.map { cache.path(of: $0.partialName) })
    }

    var leftoverPaths: [String] { state.withLock { $0.leftovers.values.map { cache.path(of: $0.partialName) } } }

    /// Drops what the last download of a key in the present context has left, if it has left anything.
    func dropLeftover(ofKey key: String) {
        dropLeftovers { state, context in
            state.takeLeftover(of: Identity(context: context, key: key)).map { [$0] } ?? []
        }
    }

    /// Drops all leftovers of the present context.
    func dropLeftovers() {
        dropLeftovers { $0.takeLeftovers(of: $1) }
    }

    /// What is there now is nobody's from now on; what is on its way comes in order, when another context may be shown.
    private func dropLeftovers(_ take: @escaping @Sendable (inout EngineState, _ context: String?) -> [Leftover]) {
        let (context, taken) = state.withLock { state in
            let context = state.context
            return (context, state.isInvalidated ? [] : take(&state, context))
        }
        inOrder { [self] in
            if !isOverHere { drop(taken + state.withLock { take(&$0, context) }) }
        }
    }
}

extension EngineState {
    /// Keeps what a download has left that is gone now; returns what is of no use, because another of the same was asked
    /// for meanwhile.
    mutating func keepLeftover(of job: Job) -> Leftover? {
        let leftover = job.state.withLock { state in
            Leftover(
                id: job.id, token: job.token, url: state.address.url, saved: state.saved, attempt: state.lastAttempt,
                lastSerial: state.lastSerial)
        }
        return leftover.saved.isLeftover ? keep(leftover, for: job.task.identity) : nil
    }

    /// Keeps a leftover, unless there is a later download of the same, or a later leftover; returns what is not kept.
    private mutating func keep(_ leftover: Leftover, for identity: Identity) -> Leftover? {
        if ids[identity] != nil { return leftover }
        let other = leftovers[identity]
        if let other, other.id > leftover.id { return leftover }
        leftovers[identity] = leftover
        return other
    }

    /// Keeps what an earlier process has left.
    mutating func keepLeftover(_ record: DownloadRecord, boot: String?) {
        identity.lastID = max(identity.lastID, record.id.number)
        leftovers[record.identity] = Leftover(record, boot: boot)
    }

    /// Gives what was left of an identity, nearly always nothing, to the next download of it.
    mutating func takeLeftover(of identity: Identity) -> Leftover? {
        leftovers.isEmpty ? nil : leftovers.removeValue(forKey: identity)
    }

    fileprivate mutating func takeLeftovers(of context: String?) -> [Leftover] {
        let taken = leftovers.filter { $0.key.context == context }
        for identity in taken.keys { leftovers[identity] = nil }
        return taken.values.sorted { $0.id < $1.id }
    }
}
