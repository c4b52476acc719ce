import Foundation
import LannerTesting

@testable import LannerCore
@testable import LannerMachine

/// What a download is remembered by.
extension FuzzTarget {
    /// The bytes of a record.
    static let record = FuzzTarget("record") { bytes in
        let data = Data(bytes)
        if let identity = StoreIdentity(data) {
            try promise(StoreIdentity(identity.encoded) == identity, "\(identity) is read otherwise")
        }
        if let removal = Removal(data) {
            try promise(Removal(removal.encoded) == removal, "\(removal) is read otherwise")
            try promise(FileName.isName(removal.place.name), "“\(removal.place)” is no place")
        }
        guard let record = DownloadRecord(data) else { return }
        let written = record.encoded
        guard let again = DownloadRecord(written) else { throw BrokenPromise(description: "\(record) is not read") }
        try promise(again == record && again.encoded == written, "\(record) is read as \(again)")
        try promise(FileName.isName(record.place.name), "“\(record.place)” is no place")
        try promise(PartialName(record.partialName.text) == record.partialName, record.partialName.text)
        try promise(record.startDate.isFinite && record.endDate.isFinite, "a date that is none")
        try promise(record.saved.total ?? 0 >= 0 && record.saved.version?.total ?? 0 >= 0, "a negative total")
        for ranges in [record.saved.written, record.saved.synced] {
            try promise(ranges.ranges.allSatisfy { $0.lowerBound >= 0 && !$0.isEmpty }, "\(ranges)")
            try promise(
                zip(ranges.ranges, ranges.ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound }, "\(ranges)")
        }
    }

    private static let file = (0..<700).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    /// What the transport is, what is on the disk and how much of it; then the bytes of a record that a manager finds.
    ///
    /// Whatever it claims, the download ends, and a file that was not finished before is the server's.
    static let relaunch = FuzzTarget("relaunch") { bytes in
        var feed = Feed(bytes)
        let (traits, state, length) = (traits(feed.below(4)), feed.byte(), feed.wide(below: file.count + 1))
        guard var record = DownloadRecord(Data(feed.bytes(bytes.count))) else { return }
        makeTruthful(&record)
        let bench = TestBench(traits: traits)
        bench.transport.serve(.init(file), at: "/file")
        if state & 1 == 1 {
            bench.disk.put(Array(file.prefix(length)), at: "/downloads/Tmp/" + record.partialName.text)
        }
        if state & 2 == 2 { record.boot = bench.disk.boot }
        bench.relaunch(store: MemoryStore([record.storeKey: record.encoded], lanes: bench.lanes))
        // What a canceled download has left is no task, but that of the next one that is asked for.
        let (restored, isLeftover) = (bench.manager.fetchTask(record.url), record.saved.isLeftover)
        try promise((restored == nil) == isLeftover, "\(record) is \(isLeftover ? "restored" : "not restored")")
        guard let task = restored ?? bench.manager.download(record.url) else {
            throw BrokenPromise(description: "\(record) leaves nothing")
        }
        try promise(task.id == record.id, "\(record) is not taken over by \(task.id)")
        _ = (bench.manager.progress.fractionCompleted, bench.manager.timeRemaining, task.progress.fractionCompleted)
        if record.saved.status == .succeeded, !isLeftover { return }
        bench.manager.start(task)
        try promise(bench.runToRest(), "the download does not end")
        try promise(task.status == .succeeded || task.status == .failed, "it is \(task.status)")
        if task.status == .succeeded { try promise(bench.contents(of: task) == file, "it is another file") }
    }

    /// A record may claim bytes that are not there, and of any version; a size that the version never had cannot be seen
    /// through.
    private static func makeTruthful(_ record: inout DownloadRecord) {
        record.url = "https://example.com/file"
        (record.key, record.context) = (record.url, nil)
        (record.place, record.conflictPolicy) = (FilePlace("file"), nil)
        record.digest = nil
        let size = Int64(file.count)
        record.saved.total = record.saved.total.map { _ in size }
        record.saved.version = record.saved.version.map { version in
            Version(
                entityTag: version.entityTag, lastModified: version.lastModified,
                isLastModifiedStrong: version.isLastModifiedStrong, total: version.total.map { _ in size },
                isEncoded: version.isEncoded)
        }
    }

    private static func traits(_ choice: Int) -> TransportTraits {
        switch choice {
        case 0: TransportTraits(delivery: .pausable)
        case 1: TransportTraits(delivery: .sliced(100...300, inFlight: 2))
        case 2: TransportTraits(delivery: .file)
        case _: TransportTraits(delivery: .file, hasResumeData: true)
        }
    }
}
