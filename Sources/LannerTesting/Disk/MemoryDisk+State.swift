import Dispatch
import LannerCore
import LannerMachine

/// What is on a ``MemoryDisk``, and what will go wrong with it.
struct MemoryDiskState {
    /// A fault that waits for its operation.
    struct Planned {
        var operation: MemoryDisk.Operation
        var fault: DiskFault
        var path: String?
        var skipping: Int
        var times: Int
        var hasHappened = false
    }

    /// Whose a name is for the device, and the number of the last change of it.
    struct DurableName {
        var file: File?
        var lastEdit = 0
    }

    /// A file: its bytes live as long as it has a name or is open.
    // @unchecked Sendable: only touched under the lock of the disk's state.
    final class File: @unchecked Sendable {
        /// Of all that there ever were; the same after a reboot.
        let number: UInt64
        /// How often it was changed, its name included.
        var changes: Int64 = 0
        var bytes = MemoryBytes()
        var name: String?
        var handles = 0
        /// What the device has, and what changed since.
        var durable = MemoryBytes()
        var unsynced: [MemoryDisk.Edit] = []
        /// What a sync of this process has failed to write: readers see it, and no later sync writes it.
        var forgotten = ByteRanges()
        /// What a dead process has left to be synced.
        var inherited = ByteRanges()
        /// Why a sync of all files could not write this one, until a sync of its own, or a look, has told that.
        var untold: DiskFault?

        init(number: UInt64) {
            self.number = number
        }

        /// What a reboot leaves of a file.
        init(after old: File) {
            (number, changes) = (old.number, old.changes)
        }

        var fingerprint: FileFingerprint { FileFingerprint(number: number, changed: changes, size: bytes.size) }

        /// A process that dies before it can say that a sync has failed leaves a loss that nobody could tell: there is
        /// none here.
        func remember() {
            unsynced += forgotten.ranges.map { .write($0) }
            (forgotten, untold) = (ByteRanges(), nil)
            inherited = missing
        }

        /// Why bytes could not be written, if that was not told yet.
        func tell() -> DiskFault? { untold.take() }

        /// Bytes that are cut off are no longer to be written, nor are those of them that could not be.
        func noteTruncate(to size: Int64) {
            unsynced.append(.truncate(to: size))
            forgotten = forgotten.clipped(to: size)
            inherited = inherited.clipped(to: size)
        }

        func noteWrite(_ range: Range<Int64>) {
            unsynced.append(.write(range))
            if !inherited.isEmpty { inherited.remove(range) }
            guard !forgotten.isEmpty else { return }
            forgotten = ByteRanges(
                forgotten.ranges.flatMap {
                    [$0.clamped(to: .min..<range.lowerBound), $0.clamped(to: range.upperBound..<Int64.max)]
                })
        }
    }

    var capacity: Int64?
    var claimedFreeSpace: Int64?
    var boot: String? = "boot-1"
    var planned: [Planned] = []
    var holds: [MemoryDisk.Operation: MemoryDisk.Hold] = [:]
    var counters = MemoryDisk.Counters()
    /// Called with the path when the device has what a sync was asked for, before that is told.
    var whileSyncing: (@Sendable (String) -> Void)?
    /// How many more operations there are before the process dies in the middle of things; nil for no end.
    var operationsLeft: Int?
    /// Before the next of which operations it dies.
    var lastOperation: MemoryDisk.Operation?
    /// Counts the processes that have used the disk: files that an earlier one has opened are closed.
    private(set) var process = 0
    /// The changes of names that the device does not have, the last of all there were, which are numbered from 1.
    var unsyncedNames: [MemoryDisk.NameEdit] = []
    var nameEdits = 0
    /// Whose the names in those changes are for the device. All others it has as they are.
    var durableNames: [String: DurableName] = [:]
    /// Directories below which there is another device: nothing is renamed into them or out of them.
    var mounts: Set<String> = []
    var fillsGaps = false
    var keepsUnsynced = true
    /// Whether files of transports are taken in as they are.
    var takesFilesIn = true
    /// Whether the device writes names in the order of their changes, as those with one journal do; else a directory that
    /// is synced brings its own names only, and what they depend on: of a file that was moved from another directory both
    /// names may be left, and the file counts one of them.
    var ordersNames = true
    /// Who has each lock; a number is never given twice, so that an old owner cannot give back a new one's.
    private var locks: [String: Int] = [:]
    private var lastLock = 0
    var files = MemoryNames<File>()
    private var madeFiles: UInt64 = 0
    /// Files that were changed, among them all of which something is not on the device.
    var changed: [ObjectIdentifier: File] = [:]
    private(set) var used: Int64 = 0
    private(set) var openFiles = 0
    private var directories: Set = ["/"]

    init(capacity: Int64?) {
        self.capacity = capacity
    }

    /// Whether the process does anything yet: it may be dying in the middle of things.
    var isAlive: Bool { operationsLeft != 0 }

    var free: Int64 { max(0, (capacity ?? .max) - used) }
}

// MARK: Names

extension MemoryDiskState {
    /// A path from the root, without empty components.
    static func normal(_ path: String) -> String {
        var path = path
        let isNormal = path.withUTF8 { bytes in Self.isNormal(bytes) }
        return isNormal ? path : ("/" + path).plainPath
    }

    private static func isNormal(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        guard path.first == slash, path.count == 1 || path.last != slash else { return false }
        return zip(path, path.dropFirst()).allSatisfy { $0 != slash || $1 != slash }
    }

    private static let slash = UInt8(ascii: "/")

    func file(at path: String) -> File? {
        files[Self.normal(path)]
    }

    /// The directory below which a device is mounted that has a path.
    func device(of path: String) -> String {
        if mounts.isEmpty { return "/" }
        return mounts.filter { path == $0 || path.hasPrefix($0 + "/") }.max { $0.count < $1.count } ?? "/"
    }

    func isDirectory(_ path: String) -> Bool {
        directories.contains(Self.normal(path))
    }

    /// The names in a directory; nil when there is none.
    func names(in path: String) -> [String]? {
        let path = Self.normal(path)
        guard directories.contains(path) else { return nil }
        let below = directories.filter { $0 != path && $0.directory == path }
        return (files.paths(in: path) + below).map(\.lastComponent)
    }

    /// Why a file cannot have this name; nil when it can.
    func obstacle(at path: String) -> DiskFault? {
        if directories.contains(path) { return .inTheWay }
        if directories.contains(path.directory) { return nil }
        return files[path.directory] != nil ? .inTheWay : .notFound
    }

    /// Makes a directory and those above; false when a file is in the way.
    mutating func makeDirectory(_ path: String) -> Bool {
        if directories.contains(path) { return true }
        guard files[path] == nil, makeDirectory(path.directory) else { return false }
        directories.insert(path)
        return true
    }

    /// Gives a file a name, and the file that had it before none.
    mutating func put(_ file: File, at path: String) {
        note(.set(path, file))
        bind(path, to: file)
    }

    /// Takes a name away.
    mutating func take(_ path: String) {
        guard files[path] != nil else { return }
        note(.remove(path))
        unbind(path)
    }

    /// Gives a file another name.
    mutating func move(_ file: File, from path: String, to target: String) {
        file.changes += 1
        if ordersNames || path.directory == target.directory {
            note(.rename(path, to: target, file))
        } else {
            // Each directory is written by itself.
            note(.set(target, file))
            note(.remove(path))
        }
        // Open for a moment, so that losing the old name does not lose the bytes.
        openHandle(of: file)
        unbind(path)
        bind(target, to: file)
        closeHandle(of: file)
    }

    mutating func bind(_ path: String, to file: File) {
        unbind(path)
        file.name = path
        files.set(file, at: path)
    }

    private mutating func unbind(_ path: String) {
        guard let file = files.remove(path) else { return }
        file.name = nil
        giveBackIfGone(file)
    }

    mutating func openHandle(of file: File) {
        file.handles += 1
        openFiles += 1
    }

    mutating func closeHandle(of file: File) {
        file.handles -= 1
        openFiles -= 1
        giveBackIfGone(file)
    }

    /// A file that there was not before.
    mutating func makeFile() -> File {
        madeFiles += 1
        return File(number: madeFiles)
    }

    /// Changes a file's bytes and keeps the account.
    mutating func change(_ file: File, _ body: (inout MemoryBytes) -> Void) {
        file.changes += 1
        let before = file.bytes.footprint
        body(&file.bytes)
        used += file.bytes.footprint - before
        changed[ObjectIdentifier(file)] = file
    }

    private mutating func giveBackIfGone(_ file: File) {
        guard file.name == nil, file.handles == 0 else { return }
        used -= file.bytes.footprint
        file.bytes = MemoryBytes()
        changed[ObjectIdentifier(file)] = nil
    }
}

// MARK: Locks

extension MemoryDiskState {
    /// Takes a lock; nil when it is taken.
    mutating func takeLock(_ path: String) -> Int? {
        guard locks[path] == nil else { return nil }
        lastLock += 1
        locks[path] = lastLock
        return lastLock
    }

    mutating func releaseLock(_ path: String, _ number: Int) {
        if locks[path] == number { locks[path] = nil }
    }

    /// What the death of a process does: its locks are given back, its files closed.
    mutating func endProcess() {
        process += 1
        (operationsLeft, lastOperation) = (nil, nil)
        locks = [:]
        openFiles = 0
        changed = [:]
        for file in files.values {
            file.handles = 0
            file.remember()
            if !file.unsynced.isEmpty { changed[ObjectIdentifier(file)] = file }
        }
        used = files.values.reduce(0) { $0 + $1.bytes.footprint }
    }
}

// MARK: Faults

extension MemoryDiskState {
    /// Counts an operation and says what it fails with, if anything was planned for it.
    mutating func begin(_ operation: MemoryDisk.Operation, _ path: String) -> DiskFault? {
        if operation == lastOperation { operationsLeft = 0 }
        if let left = operationsLeft {
            if left == 0 { return .other }
            operationsLeft = left - 1
        }
        counters.operations[operation, default: 0] += 1
        let applying = planned.indices.filter { index in
            planned[index].operation == operation && (planned[index].path ?? path) == path
        }
        guard let first = applying.first else { return nil }
        if planned[first].skipping > 0 {
            planned[first].skipping -= 1
            return nil
        }
        let fault = planned[first].fault
        planned[first].times -= 1
        planned[first].hasHappened = true
        if planned[first].times <= 0 { planned.remove(at: first) }
        return fault
    }
}

extension MemoryDisk {
    /// Operations that are held back until ``release()``.
    package final class Hold: Sendable {
        private let released = DispatchGroup()
        private let isReleased = Locked(false)
        private let reached: @Sendable () -> Void

        init(reached: @escaping @Sendable () -> Void) {
            self.reached = reached
            released.enter()
        }

        /// Lets all go on, those to come as well. Twice does nothing.
        package func release() {
            let isFirst = isReleased.withLock { isReleased in
                defer { isReleased = true }
                return !isReleased
            }
            if isFirst { released.leave() }
        }

        func wait() {
            guard !isReleased.withLock({ $0 }) else { return }
            reached()
            released.wait()
        }
    }
}
