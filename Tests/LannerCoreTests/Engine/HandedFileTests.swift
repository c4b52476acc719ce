import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A transport that hands over a file right behind its head, before anybody has judged that.
@Suite struct HandedFileTests {
    private let lanes = ManualLanes()
    private let disk = MemoryDisk()
    private let transport: HandingTransport
    private let manager: SessionManager

    init() throws {
        transport = try HandingTransport(bytes)
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        manager = SessionManager(
            "handed", configuration: configuration, transport: transport, store: nil, logger: RecordingLog(),
            cache: Cache("handed", downloadPath: "/downloads"), operationQueue: .global(),
            environment: Environment(
                clock: ManualClock(), fileSystem: disk, lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation")))
    }

    /// Bytes in memory, from the transport or on their way to the disk.
    private func outstanding(_ task: DownloadTask) -> Int {
        manager.engine.job(task.id)?.state.withLock { $0.sinks.values }.compactMap(\.outstanding).max() ?? 0
    }

    /// Runs what there is to run until the file has been handed over.
    private func handOver() throws -> DownloadTask {
        let task = try #require(manager.download(address))
        while !transport.hasHandedOver, lanes.runNext() {}
        try #require(transport.hasHandedOver)
        return task
    }

    @Test(arguments: [true, false]) func isNotInMemoryAsAWhole(endsAtOnce: Bool) throws {
        transport.endsAtOnce.withLock { $0 = endsAtOnce }
        let task = try handOver()
        #expect(outstanding(task) == 1 << 20)
        var most = 0
        while lanes.runNext() { most = max(most, outstanding(task)) }
        #expect(most <= 9 << 20)
        if !endsAtOnce {
            #expect(task.status == .running)
            transport.end()
            lanes.runAll()
        }
        #expect(task.status == .succeeded)
        #expect((disk.contents(of: task.filePath) == bytes) == true)
    }

    @Test func mayEndWhileItIsRead() throws {
        transport.endsAtOnce.withLock { $0 = false }
        let task = try handOver()
        while outstanding(task) <= 1 << 20, lanes.runNext() {}
        #expect(task.status == .running)
        transport.end()
        lanes.runAll()
        #expect(task.status == .succeeded)
        #expect((disk.contents(of: task.filePath) == bytes) == true)
    }

    @Test(arguments: [true, false]) func isLeftAloneOnceItIsNotWanted(isJudged: Bool) throws {
        let task = try handOver()
        while isJudged, outstanding(task) <= 1 << 20, lanes.runNext() {}
        manager.cancel(task)
        lanes.runAll()
        #expect(task.status == .canceled)
        #expect(disk.files.filter { $0.hasPrefix(manager.cache.downloadTmpPath) } == [])
        #expect(!disk.files.contains(task.filePath))
    }

    /// Whoever writes into a file that it has handed over brings no success about.
    @Test func isNoSuccessWhenItWasCutMeanwhile() throws {
        transport.cuts.withLock { $0 = true }
        let task = try handOver()
        lanes.runAll()
        #expect(task.status == .failed)
        #expect(task.reason == .transport(.lengthMismatch))
    }
}

/// 20 MiB and a little more.
private let bytes = [UInt8](unsafeUninitializedCapacity: 20 << 20 | 5) { buffer, count in
    for index in buffer.indices { buffer.initializeElement(at: index, to: UInt8(truncatingIfNeeded: index &* 31 >> 7)) }
    count = buffer.count
}

private final class HandingTransport: Transport {
    private final class Over: TransportExchange {
        func cancel() {}
        func pause() {}
        func resume() {}
    }

    let traits = TransportTraits(delivery: .file)
    let endsAtOnce = Locked(true)
    /// Whether the file is cut as soon as it is handed over.
    let cuts = Locked(false)
    private let file: URL
    private let receiver = Locked<(@Sendable (TransportEvent) -> Void)?>(nil)

    var hasHandedOver: Bool { receiver.withLock { $0 != nil } }

    init(_ bytes: [UInt8]) throws {
        file = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        try Data(bytes).write(to: file)
    }

    deinit {
        try? FileManager.default.removeItem(at: file)
    }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        receive(.head(ResponseHead(status: 200, fields: ["Content-Length": "\(bytes.count)"])))
        receive(.file(file))
        if cuts.withLock({ $0 }) { truncate(file.path, 5 << 20) }
        try? FileManager.default.removeItem(at: file)
        receiver.withLock { $0 = receive }
        if endsAtOnce.withLock({ $0 }) { end() }
        return Over()
    }

    func end() {
        receiver.withLock { $0 }?(.end)
    }

    func invalidate() {}
}
