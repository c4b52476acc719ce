import LannerCore

/// The events of one exchange on their way from libcurl's thread to the receiver, and whether the transfer has to wait.
///
/// A value; its owner locks it. What it says is to be done is done outside the lock.
struct Mailbox {
    typealias Receiver = @Sendable (TransportEvent) -> Void

    /// The bounds of how many bytes may wait. The lower one is what libcurl hands over at once, which is what comes in
    /// spite of a limit: where many share a low one, more would be long silence after each burst.
    static let least = 16 << 10
    static let most = 2 << 20
    /// The lower bound where a whole buffer of libcurl's has to fit in at any time, and nothing of it may be refused.
    static let leastForBuffers = 2 * Slab.size
    /// What a piece counts for at least, so that a trickle of single bytes is bounded as well.
    static let leastWeight = 4 << 10

    /// An event to hand over.
    struct Step {
        var event: TransportEvent
        var receive: Receiver
    }

    /// Given up with the last event, so that what the receiver holds is freed.
    private var receive: Receiver?
    private var waiting = Fifo<TransportEvent>()
    /// Of what waits, and of what the receiver has in hand.
    private var weight = 0
    /// Of what the receiver has in hand. It is only then out of the way when the receiver comes back for more, for it
    /// may say until then that it wants no more.
    private var weightInHand = 0
    /// Bytes that may wait before the transfer is held; with half as many it goes on. Few after a pause, since a
    /// receiver that keeps a limit says only once it has too many that it wants no more; then as many more as it takes.
    private var capacity: Int
    private let leastCapacity: Int
    /// The last event was accepted; what is posted later is dropped.
    private(set) var isClosed = false
    /// Somebody hands over, and takes along what comes in meanwhile.
    private var isDraining = false
    /// The owner wants no bytes.
    private var isPaused = false
    /// The transfer was told to wait.
    private var isHeld = false

    /// `isLimited` is for a receiver that keeps a limit from the beginning, for which libcurl has a small buffer.
    /// With `takesBuffers` what libcurl has in a large one is always taken as a whole.
    init(isLimited: Bool, takesBuffers: Bool = Library.readsWhileItHolds, _ receive: @escaping Receiver) {
        self.receive = receive
        leastCapacity = takesBuffers && !isLimited ? Self.leastForBuffers : Self.least
        capacity = isLimited ? Self.least : Self.most
    }

    // MARK: The transfer's side

    /// Adds an event that is not the last one; whether handing over is to be started.
    mutating func post(_ event: TransportEvent) -> Bool {
        guard !isClosed else { return false }
        waiting.append(event)
        weight += event.weight
        return takeOver()
    }

    /// Adds the last event, behind what waits or in its place. Only the first call closes.
    mutating func close(with event: TransportEvent, dropping: Bool) -> (closes: Bool, drains: Bool) {
        guard !isClosed else { return (false, false) }
        isClosed = true
        if dropping { (waiting, weight) = (Fifo(), weightInHand) }
        waiting.append(event)
        return (true, takeOver())
    }

    /// Whether the transfer has to wait now, with so many bytes that are yet to be posted. It is told when it may go on.
    mutating func holds(with gathered: Int) -> Bool {
        isHeld = isPaused || weight + gathered >= capacity
        return isHeld
    }

    // MARK: The owner's side

    mutating func pause() {
        isPaused = true
        capacity = leastCapacity
    }

    /// Whether the transfer is to go on.
    mutating func resume() -> Bool {
        isPaused = false
        return letGo()
    }

    // MARK: The receiver's side

    /// The next event to hand over, nil ends the handing over; and whether there is room again: the transfer is to go on.
    mutating func next() -> (step: Step?, frees: Bool) {
        putAway()
        guard let receive, let event = waiting.popFirst() else {
            isDraining = false
            return (nil, letGo())
        }
        weightInHand = event.weight
        if isClosed, waiting.count == 0 { self.receive = nil }
        return (Step(event: event, receive: receive), letGo())
    }

    private mutating func putAway() {
        weight -= weightInHand
        if !isPaused { capacity = min(capacity + weightInHand, Self.most) }
        weightInHand = 0
    }

    private mutating func letGo() -> Bool {
        guard isHeld, !isPaused, weight <= capacity / 2 else { return false }
        isHeld = false
        return true
    }

    private mutating func takeOver() -> Bool {
        defer { isDraining = true }
        return !isDraining
    }
}

extension TransportEvent {
    fileprivate var weight: Int {
        switch self {
        case .bytes(let data): max(data.count, Mailbox.leastWeight)
        case .head, .progress, .file, .end, .failure: 0
        }
    }
}
