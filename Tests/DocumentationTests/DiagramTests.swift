import Foundation
import LannerCore
import Testing

/// The pictures in `Docs/Images` show the ways that there are. Drawn anew by
///
///     LANNER_DRAWS=1 swift test --filter DiagramTests
@Suite struct DiagramTests {
    @Test(arguments: [("task", Diagram.ofTask), ("manager", Diagram.ofManager)])
    func showsWhatThereIs(name: String, diagram: Diagram) throws {
        let path = "Docs/Images/\(name).svg"
        if ProcessInfo.processInfo.environment["LANNER_DRAWS"] != nil {
            try diagram.svg.write(to: Repository.url(path), atomically: true, encoding: .utf8)
        }
        #expect(try Repository.text(path) == diagram.svg, "\(path) is old")
    }

    @Test(arguments: [Diagram.ofTask, .ofManager]) func leavesNothingOut(diagram: Diagram) {
        for status in Status.allCases { #expect(diagram.places[status] != nil, "\(status) has no place") }
        for move in diagram.bends.keys { #expect(diagram.moves.contains(move), "there is no \(move)") }
    }

    @Test func aTaskComesToEveryStatus() {
        #expect(Moves.ofTask.reachable(from: Moves.starts) == Set(Status.allCases))
    }

    @Test func everyStatusThatIsNoRestIsLeft() {
        for status in Status.allCases where !status.isAtRest { #expect(!status.next.isEmpty) }
    }

    @Test func aManagerIsNeverInBetween() {
        let reached = Moves.ofManager.reachable(from: [.waiting])
        #expect(reached == [.waiting, .running, .suspended, .failed, .succeeded, .canceled, .removed])
    }
}
