import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A transport that hands over a file right behind its head, before anybody has judged that; and a disk that does not take
/// it in, so that it is copied.
@Suite struct HandedFileTests {
    private let bench: TestBench
    private let transport: HandingTransport
    private var lanes: ManualLanes { bench.lanes }
    private var manager: SessionManager { bench.manager }

    init() throws {
        (bench, transport) = try Self.bench()
    }

    private static func bench(outlivesProcess: Bool = false) throws -> (TestBench, HandingTransport) {
        let disk = MemoryDisk()
        disk.takesFilesIn = false
        return try AdoptedFileTests.bench(disk, outlivesProcess: outlivesProcess)
    }

    /// Bytes in memory, from the transport or on their way to the disk.
    private func outstanding(_ task: DownloadTask) -> Int {
        manager.engine.job(task.id)?.state.withLock { $0.sinks.values }.compactMap(\.outstanding?.bytes).max() ?? 0
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

/// The same, and a disk on which it becomes the file of the download without being copied.
@Suite struct AdoptedFileTests {
    private let bench: TestBench
    private let transport: HandingTransport

    init() throws { (bench, transport) = try Self.bench() }

    fileprivate static func bench(
        _ disk: MemoryDisk = MemoryDisk(), outlivesProcess: Bool = false
    ) throws -> (TestBench, HandingTransport) {
        let transport = try HandingTransport(outlivesProcess: outlivesProcess)
        var configuration = SessionConfiguration()
        configuration.retryPolicy = .never
        return (TestBench(configuration: configuration, transport: { _ in transport }, disk: disk), transport)
    }

    private func partials(_ bench: TestBench) -> [String] {
        bench.disk.paths.filter { $0.hasPrefix(bench.manager.cache.downloadTmpPath) }
    }

    @Test(arguments: [true, false], [true, false]) func isNotCopied(endsAtOnce: Bool, outlivesProcess: Bool) throws {
        let (bench, transport) = try Self.bench(outlivesProcess: outlivesProcess)
        transport.endsAtOnce.withLock { $0 = endsAtOnce }
        let task = try bench.download()
        bench.lanes.runAll()
        if !endsAtOnce {
            bench.clock.advance(by: .seconds(1))
            bench.lanes.runAll()
            #expect(task.status == .running && task.completedBytes == Int64(bytes.count))
            transport.end()
            bench.lanes.runAll()
        }
        #expect(task.status == .succeeded)
        #expect(bench.holds(bytes, in: task) == true && partials(bench) == [])
        #expect(bench.disk.counters.bytesWritten < 1 << 20)
    }

    /// Nothing is set aside for it besides.
    @Test(arguments: [true, false]) func takesItsRoomOnce(outlivesProcess: Bool) throws {
        let disk = MemoryDisk(capacity: Int64(bytes.count) + 100_000)
        let (bench, _) = try Self.bench(disk, outlivesProcess: outlivesProcess)
        let task = try bench.download()
        bench.lanes.runAll()
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
    }

    /// As early as it can be known.
    @Test func failsAtItsHeadWhereThereIsNoRoom() throws {
        let (bench, transport) = try Self.bench(MemoryDisk(capacity: 1 << 20))
        transport.isHeld.withLock { $0 = true }
        let task = try bench.download()
        bench.lanes.runAll()
        transport.begin()
        bench.lanes.runAll()
        #expect(task.reason == .disk(.noSpace))
    }

    @Test(arguments: [true, false]) func isComparedWithItsDigest(isRight: Bool) throws {
        let task = try bench.download(checksum: digest(of: isRight ? bytes : [1]))
        bench.lanes.runAll()
        #expect(task.reason == (isRight ? nil : .checksumMismatch))
        #expect(!isRight || bench.holds(bytes, in: task) == true)
    }

    /// When it is handed over, or when it is to become the file.
    @Test(arguments: [0, 1]) func isCopiedWhereItCannotBeRenamed(skipping: Int) throws {
        bench.disk.fail(.rename, with: .inputOutput, skipping: skipping)
        let task = try bench.download()
        bench.lanes.runAll()
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(bench.disk.counters.bytesWritten >= bytes.count && partials(bench) == [])
    }

    /// When it is looked at, or once it has become the file.
    @Test(arguments: [1, 2]) func isCopiedWhereItCannotBeOpened(skipping: Int) throws {
        bench.disk.fail(.open, with: .inputOutput, skipping: skipping)
        let task = try bench.download()
        bench.lanes.runAll()
        #expect(task.reason == (skipping == 1 ? nil : .disk(.inputOutput)))
        #expect(skipping == 2 || bench.holds(bytes, in: task) == true)
    }

    /// As mostly: the head comes long before.
    @Test(arguments: [true, false]) func isNotCopiedWhereTheAnswerWasJudgedBefore(outlivesProcess: Bool) throws {
        let (bench, transport) = try Self.bench(outlivesProcess: outlivesProcess)
        transport.isHeld.withLock { $0 = true }
        let task = try bench.download()
        bench.lanes.runAll()
        transport.begin()
        bench.lanes.runAll()
        transport.deliver(withHead: false)
        bench.lanes.runAll()
        #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true)
        #expect(bench.disk.counters.bytesWritten < 1 << 20 && partials(bench) == [])
    }

    /// Another has it by another name, and may change it.
    @Test func isCopiedWhereItHasAnotherName() throws {
        let disk = PosixFileSystem()
        let other = transport.file.path + ".other"
        defer { unlink(other) }
        try #require(link(transport.file.path, other) == 0)
        #expect(!disk.takeIn(transport.file.path, as: transport.file.path + ".taken", leavesIt: false))
        unlink(other)
        #expect(disk.takeIn(transport.file.path, as: transport.file.path + ".taken", leavesIt: false))
        unlink(transport.file.path + ".taken")
    }

    @Test func leavesNothingWhenItIsNotWanted() throws {
        let task = try bench.download()
        while !transport.hasHandedOver, bench.lanes.runNext() {}
        #expect(partials(bench).contains { $0.hasSuffix(".part.copy") })
        bench.manager.cancel(task)
        bench.lanes.runAll()
        #expect(task.status == .canceled && partials(bench) == [])
    }

    @Test func whatADeathLeavesOfItGoesAtTheNextLaunch() throws {
        let task = try bench.download()
        while !transport.hasHandedOver, bench.lanes.runNext() {}
        let taken = try #require(partials(bench).first { $0.hasSuffix(".part.copy") })
        bench.relaunch()
        #expect(!partials(bench).contains(taken))
        withExtendedLifetime(task) {}
    }

    /// Of the process, or of the machine: what is held afterwards is what was sent.
    @Test(arguments: [true, false], [true, false]) func aDeathAnywhereSpoilsNothing(
        reboots: Bool, outlivesProcess: Bool
    ) throws {
        for steps in 0... {
            let (bench, transport) = try Self.bench(outlivesProcess: outlivesProcess)
            transport.remakes.withLock { $0 = true }
            bench.manager.configuration.resumesAtLaunch = true
            _ = try bench.download()
            let isOver = bench.run(steps: steps)
            if reboots { bench.reboot(seed: UInt64(steps)) } else { bench.relaunch() }
            // Its record may not have been kept yet.
            let task = try bench.manager.fetchTask(address) ?? bench.download()
            #expect(bench.runToRest())
            if task.status != .succeeded { bench.manager.start(task) }
            #expect(bench.runToRest())
            #expect(task.status == .succeeded && bench.holds(bytes, in: task) == true, "after \(steps) steps")
            #expect(partials(bench) == [])
            if isOver {
                #expect(steps > 20)
                break
            }
        }
    }

    /// On a real disk it is the very file, with the permissions of a new one.
    @Test func isTheVeryFile() async throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        chmod(transport.file.path, 0o600)
        let number = try status(transport.file.path).st_ino
        let manager = SessionManager(
            "handed", transport: transport, cache: Cache("handed", downloadPath: place.path))
        defer { manager.invalidate() }
        let task = try #require(manager.download("https://example.com/file"))
        await withCheckedContinuation { continuation in
            task.completion(onMainQueue: false) { _ in continuation.resume() }
        }
        let path = try await task.file.path
        let (file, new) = (try status(path), place.appendingPathComponent("new").path)
        try PosixFileSystem().open(new, .create).close()
        #expect(try file.st_ino == number && file.st_mode == status(new).st_mode)
        #expect(try Array(Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
    }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status
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
    /// Whether it makes it again where it is gone.
    let remakes = Locked(false)
    /// Whether it comes only when it is asked for.
    let isHeld = Locked(false)
    let status = Locked(200)
    let fields = Locked<HeaderFields>(["Content-Length": "\(bytes.count)", "ETag": "\"a\""])
    let file: URL
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

    /// Tells the head, and nothing more.
    func begin() {
        let receive = state.withLock { $0.receive }
        receive?(.head(ResponseHead(status: status.withLock { $0 }, fields: fields.withLock { $0 })))
    }

    func deliver(withHead: Bool = true) {
        let (receive, listen) = state.withLock { ($0.receive, $0.listen) }
        if withHead { begin() }
        if remakes.withLock({ $0 }) { try? Data(bytes).write(to: file) }
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
