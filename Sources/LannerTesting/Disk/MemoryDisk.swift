import LannerCore
import LannerMachine

/// A disk in memory, for tests that need full and failing disks, or that should not touch a real one.
///
/// Handed to a ``TestBench`` when that is made, it holds the manager's files; its records as well, where the bench is
/// made with `recordsOnDisk`. Make it full (``capacity``), let single operations fail
/// (``fail(_:with:path:skipping:times:)``), look at what is there (``paths``, ``contents(of:)``), and change it
/// (``put(_:at:)``, ``remove(at:)``).
///
/// It behaves as a disk of one file system: directories have to be there, a removed file stays readable for those who
/// have it open, a write that does not fit leaves what did, a reservation takes its space at once. It outlives every
/// manager on it; ``TestBench/relaunch(configuration:store:meanwhile:)`` loses nothing that was written, and
/// ``TestBench/reboot(seed:configuration:store:)`` all that was not synced, but for what chance leaves. There are no
/// permissions, no links and no second device, and time does not pass on it.
///
/// Paths are from the root; doubled slashes in them do not matter. Every method may be called on any thread; those of
/// a manager that are under way see a change at once.
public final class MemoryDisk: Sendable {
    /// What can be made to fail.
    public enum Operation: String, Sendable, Hashable, CaseIterable {
        /// Opening or making a file.
        case open
        /// Writing bytes.
        case write
        /// Reading bytes.
        case read
        /// Setting space aside.
        case allocate
        /// Cutting or extending a file.
        case truncate
        /// Waiting for the device to have a file's bytes.
        case sync
        /// Asking for a size, or for what tells a file from others.
        case size
        /// Making a directory.
        case makeDirectory
        /// Reading the names in a directory.
        case list
        /// Removing a file.
        case remove
        /// Renaming a file.
        case rename
        /// Waiting for the device to have a directory's names.
        case syncDirectory
        /// Taking a lock.
        case lock
    }

    let state: Locked<MemoryDiskState>

    /// An empty disk that holds `capacity` bytes of files; nil for no limit. Names and directories take no space.
    public init(capacity: Int64? = nil) {
        state = Locked(MemoryDiskState(capacity: capacity))
    }

    /// How many bytes of files the disk holds, those that are set aside for a file included; nil for no limit. A disk
    /// that holds more already keeps it. What does not fit fails with `DiskFault.noSpace`.
    public var capacity: Int64? {
        get { state.withLock { $0.capacity } }
        set { state.withLock { $0.capacity = newValue } }
    }

    /// The bytes of a file, written or not yet synced; nil when no file is there. Counts as no operation, and no fault
    /// applies.
    public func contents(of path: String) -> [UInt8]? {
        state.withLock { $0.file(at: path)?.bytes.contents }
    }

    /// The paths of all files, in alphabetical order: the manager's unfinished files and its lock among them.
    public var paths: [String] { state.withLock { $0.files.paths.sorted() } }

    /// The paths of those that have another name as well, as a death of the machine leaves them where names are not written
    /// in order.
    package var sharedPaths: Set<String> {
        state.withLock { state in
            let names = Dictionary(grouping: state.files.paths) { state.files[$0].map(ObjectIdentifier.init) }
            return Set(names.values.filter { $0.count > 1 }.joined())
        }
    }

    /// Puts a file at a path, in the stead of one that was there, with the directories above it, as another program
    /// would that syncs it: a reboot leaves it. Counts as no operation, no fault applies, and it may be more than fits.
    ///
    /// Where a directory is at the path, or a file in the place of one above, the process ends.
    public func put(_ contents: [UInt8], at path: String) {
        let path = MemoryDiskState.normal(path)
        state.withLock { state in
            let isPossible = state.makeDirectory(path.directory) && state.obstacle(at: path) == nil
            precondition(isPossible, "something else is in the place of \(path)")
            let file = state.makeFile()
            state.put(file, at: path)
            state.change(file) { $0.write(contents) }
            state.sync(file)
            state.syncNames(in: path.directory)
        }
    }

    /// Removes the file at a path, as a user would, or a system that wants the space: no reboot brings it back. Counts
    /// as no operation, and no fault applies. A directory stays.
    ///
    /// - Returns: Whether there was a file.
    @discardableResult
    public func remove(at path: String) -> Bool {
        let path = MemoryDiskState.normal(path)
        return state.withLock { state in
            guard state.file(at: path) != nil else { return false }
            state.take(path)
            state.syncNames(in: path.directory)
            return true
        }
    }

    /// How long a file is; nil when there is none.
    func length(of path: String) -> Int64? {
        state.withLock { $0.file(at: path)?.bytes.size }
    }

    /// What tells a file from others; nil when there is none.
    func identity(of path: String) -> FileFingerprint? {
        state.withLock { $0.file(at: path)?.fingerprint }
    }

    /// Makes an operation fail: the next `times` of it, after letting `skipping` of it pass. One that fails changes
    /// nothing.
    ///
    /// With a `path` only operations on that file or directory count, for a rename those from it. Several faults may
    /// be set; the one set first that applies is used up first. The manager sees an error with this fault, as it would
    /// from a real disk; what the download makes of it is in its `DownloadTask.error`.
    ///
    /// - Parameters:
    ///   - operation: What fails.
    ///   - fault: How.
    ///   - path: Where; everywhere when nil.
    ///   - skipping: How many go well before.
    ///   - times: How many fail; none for 0.
    public func fail(
        _ operation: Operation, with fault: DiskFault, path: String? = nil, skipping: Int = 0, times: Int = 1
    ) {
        guard times > 0 else { return }
        let planned = MemoryDiskState.Planned(
            operation: operation, fault: fault, path: path.map(MemoryDiskState.normal), skipping: skipping,
            times: times)
        state.withLock { $0.planned.append(planned) }
    }

    /// The operations of faults that were set and have not happened once: a test that is at its end has none left, unless
    /// it means another path.
    public var unusedFaults: [Operation] { state.withLock { $0.planned.filter { !$0.hasHappened }.map(\.operation) } }

    /// Takes back every fault that was set and has not happened.
    public func failNothing() {
        state.withLock { $0.planned = [] }
    }
}

// MARK: For this package's tests

extension MemoryDisk {
    /// What the disk was asked to do, successful or not.
    package struct Counters: Sendable, Hashable {
        package var operations: [Operation: Int] = [:]
        package var bytesWritten: Int64 = 0
        package var bytesRead: Int64 = 0

        package subscript(operation: Operation) -> Int { operations[operation, default: 0] }
    }

    package var counters: Counters { state.withLock { $0.counters } }

    /// Whether a file that a transport hands over is taken in as it is, and not copied.
    package var takesFilesIn: Bool {
        get { state.withLock { $0.takesFilesIn } }
        set { state.withLock { $0.takesFilesIn = newValue } }
    }

    /// How many times files are open.
    package var openFiles: Int { state.withLock { $0.openFiles } }

    /// How many bytes of the disk are in use.
    package var used: Int64 { state.withLock { $0.used } }

    /// What ``hasRoom(for:in:)`` takes for the free bytes; nil for the truth.
    package var claimedFreeSpace: Int64? {
        get { state.withLock { $0.claimedFreeSpace } }
        set { state.withLock { $0.claimedFreeSpace = newValue } }
    }

    /// Directories below which other devices are, between which nothing is renamed.
    package var mounts: Set<String> {
        get { state.withLock { $0.mounts } }
        set { state.withLock { $0.mounts = newValue } }
    }

    /// Whether it says that its files have no holes.
    package var fillsGaps: Bool {
        get { state.withLock { $0.fillsGaps } }
        set { state.withLock { $0.fillsGaps = newValue } }
    }

    /// Whether it says that what was written is there until the next boot.
    package var keepsUnsynced: Bool {
        get { state.withLock { $0.keepsUnsynced } }
        set { state.withLock { $0.keepsUnsynced = newValue } }
    }

    /// Whether names come to the device in the order of their changes, whatever their directory.
    package var ordersNames: Bool {
        get { state.withLock { $0.ordersNames } }
        set { state.withLock { $0.ordersNames = newValue } }
    }

    /// The boot the machine is in.
    package var boot: String? {
        get { state.withLock { $0.boot } }
        set { state.withLock { $0.boot = newValue } }
    }

    /// Gives every lock back and closes every file, as the death of the process that has them does.
    package func endProcess() {
        state.withLock { $0.endProcess() }
    }

    /// Leaves of what was not synced what chance gives, as the death of the machine does. Another boot begins.
    package func loseUnsynced(_ random: inout some RandomNumberGenerator) {
        var generator = SeededGenerator(seed: random.next())
        state.withLock { state in
            state.loseUnsynced(&generator)
            state.boot = "boot-\(state.process + 1)"
        }
    }

    /// After this many more operations none does anything, as where the process dies in the middle of things, until
    /// ``TestBench/relaunch(configuration:store:meanwhile:)`` or
    /// ``TestBench/reboot(seed:configuration:store:)``; nil for no such end. What the manager says meanwhile is nothing that
    /// anybody would have seen.
    public var operationsLeft: Int? {
        get { state.withLock { $0.operationsLeft } }
        set { state.withLock { $0.operationsLeft = newValue } }
    }

    /// Holds back every operation of a kind, from now until it is released. `reached` is called whenever one arrives,
    /// on its thread. What is held blocks its thread, so that lanes need threads of their own.
    package func hold(_ operation: Operation, reached: @escaping @Sendable () -> Void = {}) -> Hold {
        let hold = Hold(reached: reached)
        state.withLock { $0.holds[operation] = hold }
        return hold
    }
}
