import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Resume data that come a while after the cancellation, as URLSession's do.
@Suite(.timeLimit(.minutes(10))) struct LateResumeDataTests {
    @Test func aSuspensionWaitsForThem() throws {
        let bench = TestBench()
        let transport = LateTransport()
        let manager = bench.other("late", over: transport)
        let task = try #require(manager.download(address))
        bench.settle()
        transport.report(.head(ResponseHead(status: 200, fields: ["Content-Length": "1000", "ETag": "\"a\""])))
        transport.report(.progress(400))
        bench.settle()
        let calls = Tally()
        manager.suspend(task) { calls.add("\($0.status.rawValue) \($0.completedBytes)") }
        bench.settle()
        #expect(task.status == .willSuspend && calls.all.isEmpty && transport.cancellations == 1)
        transport.report(.failure(TransportFailure(.canceled, "", resumeData: Data([7]))))
        bench.settle()
        #expect(calls.all == ["suspended 400"])
        manager.start(task)
        bench.settle()
        #expect(transport.last?.resumeData == Data([7]))
    }

    /// The end of the exchange comes later, on another thread, as that of the system's does; or never.
    @Test(arguments: [false, true]) func theEndOfTheManagerWaitsForThemButNotForGood(comes: Bool) throws {
        let bench = TestBench()
        let transport = LateTransport()
        let open = {
            bench.other("late", over: transport, FileStore(directory: "/late", disk: bench.disk, lanes: bench.lanes))
        }
        let manager = open()
        let task = try #require(manager.download(address))
        bench.settle()
        transport.report(.head(ResponseHead(status: 200, fields: ["Content-Length": "1000", "ETag": "\"a\""])))
        transport.report(.progress(400))
        bench.settle()
        manager.invalidate()
        #expect(open().unavailable != nil, "its directory is not free yet")
        if comes {
            transport.report(.failure(TransportFailure(.canceled, "", resumeData: Data([7]))))
        } else {
            bench.run(for: .seconds(5))
        }
        bench.settle()
        let next = open()
        let restored = try #require(next.fetchTask(task.url))
        #expect(next.unavailable == nil && restored.completedBytes == (comes ? 400 : 0))
        next.start(restored)
        bench.settle()
        #expect(transport.last?.resumeData == (comes ? Data([7]) : nil))
    }

    @Test func aSuspensionWaitsForTheEndInTheirPlace() throws {
        let bench = TestBench()
        let transport = LateTransport()
        let manager = bench.other("late", over: transport)
        let task = try #require(manager.download(address))
        bench.settle()
        manager.suspend(task)
        bench.settle()
        transport.report(.head(ResponseHead(status: 200, fields: [:])))
        transport.report(.end)
        bench.settle()
        #expect(task.status == .suspended && task.completedBytes == 0)
        manager.start(task)
        manager.suspend(task)
        manager.invalidate()
        bench.settle()
        #expect(transport.last?.resumeData == nil)
    }
}

/// A transport whose one exchange reports what a test says, when it says so.
private final class LateTransport: Transport, TransportExchange {
    let traits = TransportTraits(delivery: .file, hasResumeData: true)
    private let state = Locked(
        (receive: (@Sendable (TransportEvent) -> Void)?.none, request: TransportRequest?.none, cancellations: 0))

    var last: TransportRequest? { state.withLock { $0.request } }
    var cancellations: Int { state.withLock { $0.cancellations } }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        state.withLock { ($0.receive, $0.request) = (receive, request) }
        return self
    }

    func report(_ event: TransportEvent) { state.withLock { $0.receive }?(event) }
    func cancel() { state.withLock { $0.cancellations += 1 } }
    func pause() {}
    func resume() {}
    func invalidate() {}
}
