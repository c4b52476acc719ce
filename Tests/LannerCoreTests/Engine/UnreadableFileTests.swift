import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A transport that hands over a file which is not there, without having said how long it is.
@Suite struct UnreadableFileTests {
    @Test func isNoEmptyFile() throws {
        let lanes = ManualLanes()
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        let manager = SessionManager(
            "unreadable", configuration: configuration, transport: LosingTransport(), store: nil,
            logger: RecordingLog(), cache: Cache("unreadable", downloadPath: "/downloads"), operationQueue: .global(),
            environment: Environment(
                clock: ManualClock(), fileSystem: MemoryDisk(), lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation")))
        let task = try #require(manager.download(address))
        lanes.runAll()
        #expect(task.status == .failed)
        #expect("\(try #require(task.error))".contains("cannot be read"))
    }
}

private final class LosingTransport: Transport {
    private final class Over: TransportExchange {
        func cancel() {}
        func pause() {}
        func resume() {}
    }

    let traits = TransportTraits(delivery: .file)

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        receive(.head(ResponseHead(status: 200, fields: [:])))
        receive(.file(URL(fileURLWithPath: "/there is no such file")))
        receive(.end)
        return Over()
    }

    func invalidate() {}
}
