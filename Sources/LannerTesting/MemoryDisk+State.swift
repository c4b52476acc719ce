import Dispatch
import LannerCore

/// What is on a ``MemoryDisk``, and what will go wrong with it.
struct MemoryDiskState {
    /// A fault that waits for its operation.
    struct Planned {
        var operation: MemoryDisk.Operation
        var fault: DiskFault
        var path: String?
        var skipping: Int
        var times: Int
    }

    /// A file: its bytes live as long as it has a name or is open.
    // @unchecked Sendable: only touched under the lock of the disk's state.
    final class File: @unchecked Sendable {
        var bytes = MemoryBytes()
        var isNamed = true
        var handles = 0
    }

    var capacity: Int64?
    var claimedFreeSpace: Int64?
    var boot: String? = "boot-1"
    var planned: [Planned] = []
    var holds: [MemoryDisk.Operation: MemoryDisk.Hold] = [:]
    var counters = MemoryDisk.Counters()
    /// Who has each lock; a number is never given twice, so that an old owner cannot give back a new one's.
    private var locks: [String: Int] = [:]
    private var lastLock = 0
    private(set) var files: [String: File] = [:]
    private(set) var used: Int64 = 0
    private(set) var openFiles = 0
    /// The names in each directory.
    private var directories: [String: Set<String>] = ["/": []]

    init(capacity: Int64?) {
        self.capacity = capacity
    }

    var free: Int64 { max(0, (capacity ?? .max) - used) }
}

// MARK: Names

extension MemoryDiskState {
    /// A path from the root, without empty components.
    static func normal(_ path: String) -> String {
        "/" + path.split(separator: "/").joined(separator: "/")
    }

    static func parent(of path: String) -> String {
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        return "/" + parent
    }

    private static func name(of path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? ""
    }

    func file(at path: String) -> File? {
        files[Self.normal(path)]
    }

    func names(in path: String) -> Set<String>? {
        directories[Self.normal(path)]
    }

    /// Why a file cannot have this name; nil when it can.
    func obstacle(at path: String) -> DiskFault? {
        if directories[path] != nil { return .inTheWay }
        if directories[Self.parent(of: path)] != nil { return nil }
        return files[Self.parent(of: path)] != nil ? .inTheWay : .notFound
    }

    /// Makes a directory and those above; false when a file is in the way.
    mutating func makeDirectory(_ path: String) -> Bool {
        if directories[path] != nil { return true }
        guard files[path] == nil, makeDirectory(Self.parent(of: path)) else { return false }
        directories[path] = []
        directories[Self.parent(of: path)]?.insert(Self.name(of: path))
        return true
    }

    /// Gives a file a name, and the file that had it before none.
    mutating func put(_ file: File, at path: String) {
        take(path)
        file.isNamed = true
        files[path] = file
        directories[Self.parent(of: path)]?.insert(Self.name(of: path))
    }

    /// Takes a name away.
    @discardableResult
    mutating func take(_ path: String) -> File? {
        guard let file = files.removeValue(forKey: path) else { return nil }
        directories[Self.parent(of: path)]?.remove(Self.name(of: path))
        file.isNamed = false
        giveBackIfGone(file)
        return file
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

    /// Changes a file's bytes and keeps the account.
    mutating func change(_ file: File, _ body: (inout MemoryBytes) -> Void) {
        let before = file.bytes.footprint
        body(&file.bytes)
        used += file.bytes.footprint - before
    }

    private mutating func giveBackIfGone(_ file: File) {
        guard !file.isNamed, file.handles == 0 else { return }
        used -= file.bytes.footprint
        file.bytes = MemoryBytes()
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

    /// What the death of a process does.
    mutating func releaseAllLocks() {
        locks = [:]
    }
}

// MARK: Faults

extension MemoryDiskState {
    /// Counts an operation and says what it fails with, if anything was planned for it.
    mutating func begin(_ operation: MemoryDisk.Operation, _ path: String) -> DiskFault? {
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
