import Dispatch

/// A serial queue of ours: what is run on it runs in order, one at a time, never inside `run`.
package protocol Lane: Sendable {
    /// Queues work behind all that was queued before.
    func run(_ work: @escaping @Sendable () -> Void)
}

/// Makes the lanes of one manager; a simulation makes them all on one thread.
package protocol LaneFactory: Sendable {
    /// A new lane, named for debuggers.
    func makeLane(_ label: String) -> any Lane
}

/// The lane of production: a serial dispatch queue.
package struct DispatchLane: Lane {
    private let queue: DispatchQueue

    package init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    package func run(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }
}

/// Lanes on dispatch queues.
package struct DispatchLaneFactory: LaneFactory {
    package init() {}

    package func makeLane(_ label: String) -> any Lane {
        DispatchLane(DispatchQueue(label: "lanner." + label))
    }
}
