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
    /// The same for work that is for all that has come until it runs, and had better not run too soon.
    func makeGatheringLane(_ label: String) -> any Lane
    /// Runs work that takes long, behind all that was given here before, of which a few may run at the same time. Threads
    /// are left for the lanes, however much of it there is.
    func runLong(_ label: String, _ work: @escaping @Sendable () -> Void)
    /// Waits until a latch is opened by what runs on the lanes. Lanes without threads of their own run meanwhile, those
    /// apart that the caller is on; when nothing is left to run, nobody will open it, and the wait is over as well.
    func wait(for latch: Latch)
    /// Whether the caller is on a lane that runs nothing but our own work, which cannot wait for itself: something of a
    /// user's may be let go of there.
    var isOnOwnLane: Bool { get }
}

extension LaneFactory {
    package func makeGatheringLane(_ label: String) -> any Lane { makeLane(label) }

    /// For lanes that are not short of threads.
    package func runLong(_ label: String, _ work: @escaping @Sendable () -> Void) { makeLane(label).run(work) }

    /// For lanes on which nobody waits for others.
    package var isOnOwnLane: Bool { false }
}

/// A dispatch queue as a lane; a serial one unless order does not matter.
package struct DispatchLane: Lane {
    private let queue: DispatchQueue

    package init(_ queue: DispatchQueue) {
        self.queue = queue
    }

    package func run(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }
}
