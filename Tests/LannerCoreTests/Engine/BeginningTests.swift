import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// Exchanges that begin at the same moment.
@Suite struct BeginningTests {
    private let lanes = ManualLanes()
    private let transport = GatheringTransport()
    private let manager: SessionManager

    init() {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 3
        manager = SessionManager(
            "beginnings", configuration: configuration, transport: transport, store: nil, logger: RecordingLog(),
            cache: Cache("beginnings", downloadPath: "/downloads"), operationQueue: .global(),
            environment: Environment(
                clock: ManualClock(), fileSystem: MemoryDisk(), lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation")))
    }

    /// Starts three downloads, and has their files opened, of which the manager has not heard yet.
    private func open() -> [DownloadTask] {
        let tasks = manager.multiDownload((1...3).map { "https://example.com/\($0)" })
        while lanes.runNext("file.write") {}
        #expect(transport.calls.withLock { $0 } == [])
        return tasks
    }

    @Test func areBegunByOneCall() {
        let tasks = open()
        lanes.runAll()
        #expect(transport.calls.withLock { $0 } == [["/1", "/2", "/3"]])
        #expect(tasks.allSatisfy { $0.status == .succeeded })
    }

    @Test func thoseThatAreStoppedBeforeAreNotBegun() {
        let tasks = open()
        // The request is decided on, and its end, before anything is done.
        manager.suspend(tasks[1])
        lanes.runAll()
        #expect(transport.calls.withLock { $0 } == [["/1", "/3"]])
        #expect(tasks.map(\.status) == [.succeeded, .suspended, .succeeded])
        manager.start(tasks[1])
        lanes.runAll()
        #expect(transport.calls.withLock { $0 } == [["/1", "/3"], ["/2"]] && tasks[1].status == .succeeded)
    }
}

/// Notes which paths were begun by one call.
private final class GatheringTransport: Transport {
    let calls = Locked<[[String]]>([])
    private let transport = ScriptedTransport()

    init() {
        for number in 1...3 { transport.serve(.init([1, 2, 3]), at: "/\(number)") }
    }

    var traits: TransportTraits { transport.traits }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        transport.begin(request, receive: receive)
    }

    func begin(_ beginnings: [TransportBeginning]) -> [any TransportExchange] {
        calls.withLock { $0.append(beginnings.map(\.request.url.path)) }
        return transport.begin(beginnings)
    }

    func invalidate() {
        transport.invalidate()
    }
}
