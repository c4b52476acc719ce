import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// Where most tests have their file.
let place = "/file.bin"
let address = "https://example.com/file.bin"

/// Three chunks, made once.
let large = Sample.bytes(3 << 20)

/// A digest of bytes, to be expected.
func digest(of bytes: [UInt8], _ algorithm: Checksum.Algorithm = .sha256) throws -> Checksum.Digest {
    try Checksum.Digest(algorithm: algorithm, bytes: bytes[...].digest(algorithm))
}

extension TestBench {
    /// Whether a task's file is this. Compare the answer (`== true`): an expectation prints what it calls with, and
    /// millions of bytes keep it busy for minutes.
    func holds(_ bytes: [UInt8], in task: DownloadTask) -> Bool {
        contents(of: task).map { Data($0) } == Data(bytes)
    }

    /// A bench that serves bytes at the usual place.
    static func serving(
        _ bytes: [UInt8], configuration: SessionConfiguration = SessionConfiguration(),
        traits: TransportTraits = TransportTraits(delivery: .pausable), disk: MemoryDisk = MemoryDisk(),
        store: (any Store)? = nil
    ) -> TestBench {
        let bench = TestBench(configuration: configuration, traits: traits, disk: disk, store: { store ?? $0 })
        bench.transport.serve(.init(bytes), at: place)
        return bench
    }

    /// Starts the usual download.
    func download(_ steps: ScriptedTransport.Step..., checksum: Checksum.Digest? = nil) throws -> DownloadTask {
        for step in steps { transport.script(place, step) }
        return try #require(manager.download(address, checksum: checksum))
    }

    /// Runs this many pieces of what is queued, time passing where nothing is; true when the task came to rest before.
    func run(steps: Int, of task: DownloadTask) -> Bool {
        for _ in 0..<steps where !task.status.isAtRest {
            if !lanes.runNext() { clock.advance(by: .milliseconds(250)) }
        }
        return task.status.isAtRest
    }

    /// Runs this many pieces of what is queued; true when there were fewer.
    func run(steps: Int) -> Bool {
        for _ in 0..<steps where !lanes.runNext() { return true }
        return false
    }

    /// The paths of all files but the lock.
    var files: [String] { disk.paths.filter { $0 != manager.cache.lockPath } }

    /// The `Range` fields that were asked for, "whole" where there was none.
    var ranges: [String] { transport.requests.map { $0.fields["Range"] ?? "whole" } }
}

/// Adds up what callbacks report.
final class Tally: Sendable {
    private let lines = Locked<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    func clear() { lines.withLock { $0 = [] } }
}

extension DownloadTask {
    /// Why it failed, if it did.
    var reason: DownloadFailure.Reason? {
        guard case .failed(let failure) = error as? LannerError else { return nil }
        return failure.reason
    }
}

/// The events of a task, gathered in the background of a test without threads.
final class EventLog {
    private let events: EventSequence<DownloadEvent>

    init(_ task: DownloadTask) { events = task.events }

    /// What has come since the last call. Must not be called when nothing has.
    func next(_ count: Int) async -> [String] {
        var iterator = events.makeAsyncIterator()
        var lines: [String] = []
        while lines.count < count, let event = await iterator.next() { lines.append(event.text) }
        return lines
    }

    /// Everything up to the end of the events, or up to a status that is at rest.
    func untilRest() async -> [String] {
        var iterator = events.makeAsyncIterator()
        var lines: [String] = []
        while let event = await iterator.next() {
            lines.append(event.text)
            if case .status(let status) = event, status.isAtRest { break }
        }
        return lines
    }
}

extension TestBench {
    /// Goes on until the only task's file is in its place; returns what the store held before, where that is not on record.
    func stepBehindTheMove(of task: DownloadTask) throws -> [String: Data] {
        try step { self.records.first?.saved.status == .publishing }
        let contents = contents
        try step { self.disk.paths.contains(task.filePath) }
        return contents
    }

    /// What the store holds now.
    var records: [DownloadRecord] {
        contents.values.compactMap { DownloadRecord($0) }.sorted { $0.id < $1.id }
    }
}

extension TestBench {
    /// Runs work piece by piece until something holds.
    func step(until isReached: () -> Bool) throws {
        while !isReached() { try #require(lanes.runNext()) }
    }

    /// The name of the state the machine has a task in.
    func machineState(of task: DownloadTask) -> String {
        manager.engine.state.withLock { $0.machine[task.id].map { "\($0.state)" } ?? "gone" }
    }
}

extension TransportTraits {
    /// As a background session of the system has them.
    static let background = TransportTraits(delivery: .file, hasResumeData: true, outlivesProcess: true)
}

/// Calls back the first time it is given a line, or that line of a task.
final class LogThatCalls: Logable {
    let identifier = "calls"
    var option: LogOption {
        get { .default }
        set {}
    }
    private let call: Locked<(@Sendable () -> Void)?>

    private let line: String?

    init(at line: String? = nil, _ call: @escaping @Sendable () -> Void) {
        (self.line, self.call) = (line, Locked(call))
    }

    func log(_ type: LogType) {
        if let line {
            guard case .downloadTask(line, _) = type else { return }
        }
        let first = call.withLock { call in
            defer { call = nil }
            return call
        }
        first?()
    }
}
