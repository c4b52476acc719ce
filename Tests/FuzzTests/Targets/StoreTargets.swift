import Foundation
import LannerTesting

@testable import LannerCore

/// The files of a ``FileStore``.
extension FuzzTarget {
    /// The bytes of one file: a snapshot where they begin like one, a journal otherwise.
    static let journal = FuzzTarget("journal") { try checkFile($0) }

    /// Frames with good checksums around anything: a base, then for each frame the step of its number, a size, and as
    /// many bytes.
    static let frames = FuzzTarget("frames") { bytes in
        var feed = Feed(bytes)
        let kind = feed.flag() ? StoreFileKind.snapshot : .journal
        var sequence = feed.pick([0, 1, 1000, StoreFormat.largestNumber - 2])
        var forge = StoreForge(kind, base: sequence)
        while !feed.isEmpty {
            sequence = sequence &+ UInt64(feed.byte() & 3) &- 1
            forge.append(payload: feed.bytes(feed.below(128)), sequence: sequence)
        }
        try checkFile(forge.bytes)
    }

    private static func checkFile(_ bytes: [UInt8]) throws {
        let isSnapshot = bytes.count > 7 && bytes[7] == UInt8(ascii: "S")
        var files = ["snapshot-1": emptySnapshot, "journal-1": bytes]
        if isSnapshot { files = ["snapshot-1": bytes] }
        guard let contents = try StoreTrial(files).load() else { return }
        let reader = PlainReader(bytes)
        let frames = reader.frames
        let puts = frames.flatMap(\.changes)
        for (key, value) in contents.values {
            try promise(puts.contains(.put(key: key, value: value)), "“\(key)” is in no good frame")
        }
        try checkBeginning(reader, frames, contents)
    }

    /// Where all good frames follow one another from the header on, all of them count.
    private static func checkBeginning(
        _ reader: PlainReader, _ frames: [PlainReader.Frame], _ contents: StoreContents
    ) throws {
        guard let base = reader.base else { return }
        var place = StoreFormat.headerSize
        var last = base
        var expected: [String: Data] = [:]
        while let frame = reader.frame(at: place) {
            if frame.sequence > last { expected.make(frame.changes) }
            last = max(last, frame.sequence)
            place = frame.range.upperBound
        }
        if frames.contains(where: { $0.range.lowerBound >= place }) { return }
        try promise(contents.values == expected, "\(contents.values) instead of \(expected)")
    }

    private static let emptySnapshot: [UInt8] = {
        var forge = StoreForge(.snapshot, base: 0)
        forge.append([], sequence: 1)
        return forge.bytes
    }()

    /// Good files, then what happens to them: cuts, zeros behind, old bytes that come back, up to four bytes changed.
    static let damage = FuzzTarget("damage") { bytes in
        var feed = Feed(bytes)
        var snapshot = StorePieces(.snapshot, &feed)
        var journal = StorePieces(.journal, &feed)
        snapshot.change(&feed)
        journal.change(&feed)
        let files = ["snapshot-1": snapshot.file, "journal-1": journal.file]
        guard let contents = try StoreTrial(files).load() else {
            throw BrokenPromise(description: "damage passes for another version")
        }
        var expected: [String: Data] = [:]
        for changes in snapshot.kept + journal.kept { expected.make(changes) }
        try promise(contents.values == expected, "\(contents.values) instead of \(expected)")
        let isWhole = snapshot.isWhole && journal.changed.isEmpty
        if isWhole { try promise(contents.problems.isEmpty, "\(contents.problems)") }
        if !snapshot.isWhole { try promise(!contents.problems.isEmpty, "a damaged snapshot is not mentioned") }
    }
}

/// Loads a store from files, and goes on with it.
private struct StoreTrial {
    private let disk = MemoryDisk()
    private let lanes = ManualLanes()
    private let files: [String: [UInt8]]

    init(_ files: [String: [UInt8]]) {
        self.files = files
        for (name, bytes) in files { disk.put(bytes, at: "/store/" + name) }
    }

    /// What the store has; nil when it is of another version.
    func load() throws -> StoreContents? {
        let store = open()
        // What a closed store has queued is let go of.
        defer { lanes.runAll() }
        defer { store.close() }
        let contents: StoreContents
        do {
            contents = try store.load()
        } catch let error as StoreError where error.reason == .unknownVersion {
            for (name, bytes) in files {
                try promise(disk.contents(of: "/store/" + name) == bytes, "\(name) of another version is changed")
            }
            return nil
        }
        try checkCommit(store)
        store.close()
        let again = open()
        defer { again.close() }
        let second = try again.load()
        let expected = contents.values.merging(["new": Data([1])]) { $1 }
        try promise(second.values == expected, "\(second.values) after \(expected)")
        try promise(second.problems.isEmpty, "\(second.problems) the second time")
        return contents
    }

    private func checkCommit(_ store: FileStore) throws {
        let isKept = Locked(false)
        store.commit([.put(key: "new", value: Data([1]))], durability: .machine) { result in
            if case .success = result { isKept.withLock { $0 = true } }
        }
        lanes.runAll()
        try promise(isKept.withLock { $0 }, "the store does not go on")
    }

    private func open() -> FileStore {
        FileStore(directory: "/store", disk: disk, lanes: lanes)
    }
}

/// A file in pieces, of which some come to harm.
private struct StorePieces {
    private let kind: StoreFileKind
    private let pristine: StoreForge
    private var commits: [[StoreChange]] = []
    private var bytes: [UInt8]
    /// The pieces of which bytes were changed; -1 is the header.
    private(set) var changed: Set<Int> = []
    /// Commits that came back behind the end.
    private var returned: Range<Int> = 0..<0
    /// Those that say that all before them was synced.
    private var following: Set<Int> = []

    init(_ kind: StoreFileKind, _ feed: inout Feed) {
        self.kind = kind
        var forge = StoreForge(kind, base: 5)
        for _ in 0..<feed.below(8) {
            let count = kind == .snapshot ? 1 : feed.below(3) + 1
            commits.append((0..<count).map { _ in Self.change(kind, &feed) })
        }
        if kind == .snapshot { commits.append([]) }
        for (index, changes) in commits.enumerated() {
            let followsSync = kind == .journal && feed.flag()
            if followsSync { following.insert(index) }
            forge.append(changes, sequence: UInt64(index) + 6, followsSync: followsSync)
        }
        pristine = forge
        bytes = forge.bytes
    }

    /// Values that hold no frames: those would be found in what is damaged.
    private static func change(_ kind: StoreFileKind, _ feed: inout Feed) -> StoreChange {
        let key = feed.pick(["a", "b", "c", "", "é"])
        if kind == .journal, feed.below(4) == 0 { return .remove(key: key) }
        let first = feed.byte()
        return .put(key: key, value: Data((0..<UInt8(feed.below(60))).map { first &+ $0 }))
    }

    private var ends: [Int] { pristine.starts.dropFirst() + [pristine.bytes.count] }

    var file: [UInt8] { bytes }

    /// Whether nothing that matters has happened to it.
    var isWhole: Bool {
        changed.isEmpty && bytes.starts(with: pristine.bytes)
    }

    /// The commits that count, in the order of the file: those that are there in full, and before which nothing is missing
    /// but what is damaged.
    var kept: [[StoreChange]] {
        let places = ends.indices.filter { ends[$0] <= length && !commits.isEmpty }
        // What came back is whole, and stands behind all else.
        var frames = places.map { (commit: $0, isGood: !changed.contains($0)) }
        frames += returned.map { (commit: $0, isGood: true) }
        var newest = -1
        frames = frames.filter { frame in
            guard frame.isGood else { return true }
            defer { newest = max(newest, frame.commit) }
            return frame.commit > newest
        }
        let follows = frames.map { $0.isGood && following.contains($0.commit) }
        return frames.indices.filter { place in
            guard frames[place].isGood else { return false }
            if kind == .snapshot || follows[place...].contains(true) { return true }
            let start = follows[..<place].lastIndex(of: true) ?? 0
            return frames[start..<place].allSatisfy(\.isGood)
        }.map { commits[frames[$0].commit] }
    }

    /// How much of the first writing is left.
    private var length = 0

    mutating func change(_ feed: inout Feed) {
        length = bytes.count
        for _ in 0..<feed.below(3) { spoil(&feed) }
        switch feed.below(4) {
        case 0: break
        case 1: cut(&feed)
        case 2: bytes += [UInt8](repeating: 0, count: feed.below(256))
        case _: comeBack(&feed)
        }
    }

    /// Changes up to four bytes in a row, which no checksum misses. Twice in one place might be.
    private mutating func spoil(_ feed: inout Feed) {
        let start = feed.wide(below: bytes.count)
        let range = start..<min(start + 1 + feed.below(4), bytes.count)
        let hit = Set(range.map { place in pristine.starts.lastIndex { $0 <= place } ?? -1 })
        guard changed.isDisjoint(with: hit) else { return }
        let masks = range.map { _ in feed.byte() | 1 }
        changed.formUnion(hit)
        for (place, mask) in zip(range, masks) { bytes[place] ^= mask }
    }

    private mutating func cut(_ feed: inout Feed) {
        length = feed.wide(below: bytes.count + 1)
        bytes.removeSubrange(length...)
    }

    /// What a crash of the machine may leave behind the end: commits that were cut off before.
    private mutating func comeBack(_ feed: inout Feed) {
        guard kind == .journal, !commits.isEmpty else { return }
        let first = feed.below(commits.count)
        returned = first..<commits.count
        bytes += pristine.bytes[pristine.starts[first]...]
    }
}

extension [String: Data] {
    fileprivate mutating func make(_ changes: [StoreChange]) {
        for change in changes {
            switch change {
            case .put(let key, let value): self[key] = value
            case .remove(let key): self[key] = nil
            }
        }
    }
}
