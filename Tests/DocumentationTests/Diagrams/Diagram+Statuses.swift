import LannerCore

extension Diagram {
    /// Where a task stands, and where it goes.
    static let ofTask = Diagram(
        title: "Statuses of a task",
        caption: "Blue: at rest. From a dot: added, or found at launch, when a task may also have failed or succeeded.",
        places: [
            .waiting: Point(x: 150, y: 80), .running: Point(x: 450, y: 80), .succeeded: Point(x: 730, y: 80),
            .willSuspend: Point(x: 290, y: 195), .failed: Point(x: 645, y: 165),
            .suspended: Point(x: 150, y: 310), .willRemove: Point(x: 730, y: 310),
            .canceled: Point(x: 150, y: 420), .willCancel: Point(x: 450, y: 420), .removed: Point(x: 730, y: 420),
        ], moves: Moves.ofTask, starts: Moves.starts,
        bends: [Move(from: .succeeded, to: .waiting): 50, Move(from: .waiting, to: .willCancel): 40])

    /// Where a manager stands, and where it goes.
    static let ofManager = Diagram(
        title: "Statuses of a manager",
        caption:
            "Blue: at rest. A launch, and another context, begin with what their tasks are. Hatched: of tasks only.",
        places: [
            .waiting: Point(x: 150, y: 90), .running: Point(x: 450, y: 90), .removed: Point(x: 730, y: 40),
            .canceled: Point(x: 730, y: 130), .suspended: Point(x: 150, y: 280), .failed: Point(x: 450, y: 280),
            .succeeded: Point(x: 730, y: 280), .willSuspend: Point(x: 150, y: 410),
            .willCancel: Point(x: 450, y: 410), .willRemove: Point(x: 730, y: 410),
        ], moves: Moves.ofManager, starts: [.waiting],
        bends: [Move(from: .succeeded, to: .suspended): -45])
}
