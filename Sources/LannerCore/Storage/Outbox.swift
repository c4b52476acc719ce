/// Outcomes of commits on their way to their callers, called on a lane in the order they were added.
final class Outbox: Sendable {
    typealias Completion = @Sendable (Result<Void, StoreError>) -> Void

    private let waiting = Locked<[(completion: Completion, result: Result<Void, StoreError>)]>([])
    private let lane: any Lane

    init(_ lane: any Lane) {
        self.lane = lane
    }

    func add(_ completion: @escaping Completion, _ result: Result<Void, StoreError>) {
        waiting.withLock { $0.append((completion, result)) }
    }

    /// Has what was added called soon.
    func send() {
        lane.run { self.deliver() }
    }

    /// Calls what was added. Only on the lane.
    func deliver() {
        let ready = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for (completion, result) in ready { completion(result) }
    }
}
