import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// The table of the ways that tasks go. That they go no others is seen in every simulated world.
@Suite struct StatusTests {
    /// Notes which ways tasks go.
    private final class Walk: Sendable {
        private let ways = Locked<Set<[Status]>>([])

        var all: Set<[Status]> { ways.withLock { $0 } }

        func follow(_ task: DownloadTask) {
            let last = Locked(task.status)
            task.witness { [ways] event in
                guard case .status(let status) = event else { return }
                let before = last.withLock { last in
                    defer { last = status }
                    return last
                }
                ways.withLock { _ = $0.insert([before, status]) }
            }
        }
    }

    private static let verbs: [@Sendable (TestBench, DownloadTask) -> Void] = [
        { $0.manager.start($1) }, { $0.manager.suspend($1) }, { $0.manager.cancel($1) }, { $0.manager.remove($1) },
    ]

    @Test func tasksGoEveryWayInTheTable() throws {
        let walk = Walk()
        for moment in Moment.allCases {
            for verb in Self.verbs {
                let (bench, task) = try moment.bench()
                walk.follow(task)
                verb(bench, task)
                bench.settle()
            }
        }
        try goAgain(walk)
        try takeBackTwice(walk)
        let table = Set(Status.allCases.flatMap { from in from.next.map { [from, $0] } })
        #expect(walk.all == table)
    }

    /// Retries, fails, succeeds, and is downloaded again.
    private func goAgain(_ walk: Walk) throws {
        let bench = TestBench.serving([1])
        let task = try bench.download(.failure(.connectionLost), .status(404))
        walk.follow(task)
        bench.runToRest()
        bench.manager.start(task)
        bench.settle()
        try bench.disk.remove(task.filePath)
        bench.manager.download(address)
        bench.settle()
        #expect(task.status == .succeeded)
    }

    /// Suspended, started and suspended while its file is being closed.
    private func takeBackTwice(_ walk: Walk) throws {
        let (bench, task) = try Moment.transferring.bench()
        walk.follow(task)
        bench.manager.suspend(task)
        bench.manager.start(task)
        bench.manager.suspend(task)
        bench.settle()
        #expect(task.status == .suspended)
    }
}
