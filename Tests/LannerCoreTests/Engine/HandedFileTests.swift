import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A transport that hands over a file right behind its head, before anybody has judged that.
@Suite struct HandedFileTests {
    private let bench: TestBench
    private let transport: HandingTransport
    private var lanes: ManualLanes { bench.lanes }
    private var manager: SessionManager { bench.manager }

    init() throws {
        (bench, transport) = try Self.bench()
    }

    private static func bench(outlivesProcess: Bool = false) throws -> (TestBench, HandingTransport) {
        let transport = try HandingTransport(outlivesProcess: outlivesProcess)
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        return (TestBench(configuration: configuration, transport: { _ in transport }), transport)
    }

    /// Bytes in memory, from the transport or on their way to the disk.
    private func outstanding(_ task: DownloadTask) -> Int {
        manager.engine.job(task.id)?.state.withLock { $0.sinks.values }.compactMap(\.outstanding).max() ?? 0
    }

    /// Runs what there is to run until the file has been handed over.
    private func handOver() throws -> DownloadTask {
        let task = try bench.download()
        while !transport.hasHandedOver, lanes.runNext() {}
        try #require(transport.hasHandedOver)
        return task
    }

    /// Runs on until the answer is judged, and the rest is being read.
    private func readOn(_ task: DownloadTask) throws {
        while outstanding(task) <= 1 << 20, lanes.runNext() {}
        try #require((2 << 20...10 << 20).contains(outstanding(task)))
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
        #expect(bench.holds(bytes, in: task) == true)
    }

    @Test func mayEndWhileItIsRead() throws {
        transport.endsAtOnce.withLock { $0 = false }
        let task = try handOver()
        try readOn(task)
        #expect(task.status == .running)
        transport.end()
        lanes.runAll()
        #expect(task.status == .succeeded)
        #expect(bench.holds(bytes, in: task) == true)
    }

    @Test(arguments: [true, false]) func isLeftAloneOnceItIsNotWanted(isJudged: Bool) throws {
        let task = try handOver()
        if isJudged { try readOn(task) }
        manager.cancel(task)
        lanes.runAll()
        #expect(task.status == .canceled)
        #expect(bench.disk.paths.filter { $0.hasPrefix(manager.cache.downloadTmpPath) } == [])
        #expect(!bench.disk.paths.contains(task.filePath))
    }

    /// Whoever writes into a file that it has handed over brings no success about.
    @Test(arguments: [true, false]) func isNoSuccessWhenItWasCutMeanwhile(tellsLength: Bool) throws {
        transport.cuts.withLock { $0 = true }
        if !tellsLength { transport.fields.withLock { $0 = [:] } }
        let task = try handOver()
        lanes.runAll()
        #expect(task.status == .failed)
        #expect("\(try #require(task.error))".contains("it was cut meanwhile"))
    }

    /// Without having said how long it is.
    @Test func isNoEmptyFileWhenItIsNotThere() throws {
        transport.fields.withLock { $0 = [:] }
        transport.remove()
        let task = try handOver()
        lanes.runAll()
        #expect(task.status == .failed)
        #expect("\(try #require(task.error))".contains("cannot be read"))
    }

    /// All of it has come: none of it has to come again.
    @Test(arguments: [true, false]) func isReadToItsEndWhenItsDownloadIsSuspended(endsAtOnce: Bool) throws {
        transport.endsAtOnce.withLock { $0 = endsAtOnce }
        let task = try handOver()
        try readOn(task)
        manager.suspend(task)
        if !endsAtOnce { transport.end() }
        lanes.runAll()
        #expect(task.status == .suspended)
        #expect(task.completedBytes == Int64(bytes.count))
        manager.start(task)
        lanes.runAll()
        #expect(task.status == .succeeded && transport.requests == 1)
        #expect(bench.holds(bytes, in: task) == true)
    }

    /// Nobody waits for what nobody wants.
    @Test func isGivenUpWhenItsDownloadIsCanceledAfterAll() throws {
        let task = try handOver()
        try readOn(task)
        manager.suspend(task)
        let job = try #require(manager.engine.job(task.id))
        func isReadOn() -> Bool { job.state.withLock { !$0.ending.isEmpty } }
        while !isReadOn(), lanes.runNext() {}
        try #require(isReadOn())
        manager.cancel(task)
        #expect(!isReadOn())
        lanes.runAll()
        #expect(task.status == .canceled)
    }

    @Test func isGivenUpWhenTheDiskRefuses() throws {
        let task = try handOver()
        try readOn(task)
        manager.suspend(task)
        bench.disk.fail(.write, with: .noSpace)
        lanes.runAll()
        #expect(task.status == .suspended || task.status == .failed)
        #expect(task.completedBytes < Int64(bytes.count))
    }

    @Test func isReadToItsEndAtTheEndOfItsManager() throws {
        let task = try handOver()
        try readOn(task)
        manager.invalidate()
        let parts = bench.disk.paths.filter { $0.hasPrefix(manager.cache.downloadTmpPath) }
        #expect(parts.map { bench.disk.contents(of: $0)?.count } == [bytes.count])
    }

    /// The process that began it has died, the system has asked for the rest, and only that answer is there to be seen.
    @Test(arguments: [0, 5], [true, false])
    func isTakenWhereTheSystemHasGoneOnWithIt(isShortBy missing: Int, outlivesProcess: Bool) throws {
        let (bench, transport) = try Self.bench(outlivesProcess: outlivesProcess)
        let total = bytes.count + missing
        transport.status.withLock { $0 = 206 }
        transport.fields.withLock {
            $0 = ["Content-Range": "bytes 7-\(total - 1)/\(total)", "Content-Length": "\(total - 7)", "ETag": "\"a\""]
        }
        let task = try bench.download()
        bench.lanes.runAll()
        #expect(transport.requests == 1)
        let isWhole = missing == 0 && outlivesProcess
        #expect(task.status == (isWhole ? .succeeded : .failed))
        if isWhole { #expect(bench.holds(bytes, in: task) == true) } else { #expect(task.completedBytes == 0) }
    }

    /// The system may suspend the app once its handler was called.
    @Test func theHandlerOfTheSystemWaitsForIt() throws {
        let (bench, transport) = try Self.bench(outlivesProcess: true)
        transport.isHeld.withLock { $0 = true }
        let task = try bench.download()
        bench.lanes.runAll()
        try #require(transport.requests == 1 && !transport.hasHandedOver)
        let status = Locked<Status?>(nil)
        bench.manager.completionHandler = { status.withLock { $0 = task.status } }
        transport.deliver()
        bench.lanes.runAll()
        #expect(status.withLock { $0 } == .succeeded)
        #expect(bench.holds(bytes, in: task) == true)
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

    let traits: TransportTraits
    let endsAtOnce = Locked(true)
    /// Whether the file is cut as soon as it is handed over.
    let cuts = Locked(false)
    /// Whether it comes only when it is asked for.
    let isHeld = Locked(false)
    let status = Locked(200)
    let fields = Locked<HeaderFields>(["Content-Length": "\(bytes.count)", "ETag": "\"a\""])
    private let file: URL
    private let state = Locked(State())

    private struct State {
        var requests = 0
        var receive: (@Sendable (TransportEvent) -> Void)?
        var hasHandedOver = false
        var listen: (@Sendable (TransportRecovery) -> Void)?
    }

    var requests: Int { state.withLock { $0.requests } }
    var hasHandedOver: Bool { state.withLock { $0.hasHandedOver } }

    init(outlivesProcess: Bool = false) throws {
        traits = TransportTraits(delivery: .file, outlivesProcess: outlivesProcess)
        file = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        try Data(bytes).write(to: file)
    }

    deinit { remove() }

    func remove() {
        try? FileManager.default.removeItem(at: file)
    }

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        state.withLock { state in
            state.requests += 1
            state.receive = receive
        }
        if !isHeld.withLock({ $0 }) { deliver() }
        return Over()
    }

    func deliver() {
        let (receive, listen) = state.withLock { ($0.receive, $0.listen) }
        receive?(.head(ResponseHead(status: status.withLock { $0 }, fields: fields.withLock { $0 })))
        receive?(.file(file))
        if cuts.withLock({ $0 }) { truncate(file.path, 5 << 20) }
        if !traits.outlivesProcess { remove() }
        state.withLock { $0.hasHandedOver = true }
        if endsAtOnce.withLock({ $0 }) { end() }
        listen?(.delivered)
    }

    func end() {
        state.withLock { $0.receive }?(.end)
    }

    func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void) {
        state.withLock { $0.listen = report }
        report(.survivors([]))
    }

    func discard(_ name: String) {}

    func invalidate() {}
}
