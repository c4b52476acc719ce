/// The lanes of production, on the threads that all managers share.
package struct PooledLanes: LaneFactory {
    package init() {}

    package func makeLane(_ label: String) -> any Lane {
        PooledLane(label)
    }

    package func makeGatheringLane(_ label: String) -> any Lane {
        PooledLane(label, gathers: true)
    }

    package func runLong(_ label: String, _ work: @escaping @Sendable () -> Void) {
        LongWork.shared.run(label, work)
    }

    package func wait(for latch: Latch) {
        LanePool.shared.wait(for: latch)
    }

    package var isOnOwnLane: Bool { LanePool.shared.isOnOwnLane }
}
