import Foundation
import LannerCore
import LannerMachine

/// A disk in memory with one directory that counts. It loses what was not synced when the machine dies, and fails when
/// told to.
final class CrashDisk: FileSystem {
    /// A change of a file that a crash may lose.
    enum Edit {
        case write([UInt8], at: Int)
        case truncate(Int)
    }

    /// A change of the names that a crash may lose.
    enum NameEdit {
        case set(String, File)
        case remove(String)
        case rename(String, to: String, File)
    }

    // @unchecked Sendable: only touched under the lock of the disk's state.
    final class File: @unchecked Sendable {
        var bytes: [UInt8] = []
        var durable: [UInt8] = []
        var pending: [Edit] = []

        init(_ bytes: [UInt8] = []) {
            self.bytes = bytes
            durable = bytes
        }

        func apply(_ edit: Edit) {
            bytes.apply(edit)
            pending.append(edit)
        }
    }

    struct State {
        var names: [String: File] = [:]
        var durableNames: [String: File] = [:]
        var pendingNames: [NameEdit] = []
        var locks: Set<String> = []
        var log: [String] = []
        /// The names of files that have lost bytes, whatever their syncs say.
        var hollow: Set<String> = []
        var fault: @Sendable (_ operation: String, _ count: Int) -> DiskFault? = { _, _ in nil }
    }

    let state = Locked(State())

    init(_ files: [String: [UInt8]] = [:]) {
        state.withLock { state in
            state.names = files.mapValues { File($0) }
            state.durableNames = state.names
        }
    }

    /// All files, by the last component of their path.
    var files: [String: [UInt8]] {
        state.withLock { $0.names.mapValues(\.bytes) }
    }

    /// The operations that change something, in order, such as "sync journal-1".
    var log: [String] {
        state.withLock { $0.log }
    }

    /// Decides, from an operation and how many came before it, whether it fails. A failing write writes half.
    func fail(_ fault: @escaping @Sendable (_ operation: String, _ count: Int) -> DiskFault?) {
        state.withLock { $0.fault = fault }
    }

    fileprivate func operation(
        _ name: String, _ path: String, _ body: (inout State, DiskFault?) -> Void
    ) throws(FileError) {
        let fault = state.withLock { state in
            let text = name + " " + Self.last(path)
            let fault = state.fault(text, state.log.count)
            state.log.append(text)
            body(&state, fault)
            return fault
        }
        if let fault { throw FileError(fault: fault, operation: name, path: path) }
    }

    fileprivate static func last(_ path: String) -> String {
        String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
    }
}

extension CrashDisk {
    /// What the next process finds after this one died.
    func afterProcessDeath() -> CrashDisk {
        CrashDisk(files)
    }

    /// What is found after the machine died: any of the unsynced changes of names, and of each unsynced write of a file
    /// nothing, a part or all.
    func afterMachineDeath(_ random: inout SeededGenerator) -> CrashDisk {
        state.withLock { state in
            var names = state.durableNames
            for edit in state.pendingNames where random.below(2) == 0 { names.apply(edit) }
            return CrashDisk(names.mapValues { $0.survivors(&random) })
        }
    }
}

extension CrashDisk {
    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any OpenFile {
        let name = Self.last(path)
        let file = state.withLock { $0.names[name] }
        if let file, mode != .createPrivate { return Opened(file, path, self) }
        if mode == .read { throw FileError(fault: .notFound, operation: "open", path: path) }
        let opened = file ?? File()
        try operation("create", path) { state, fault in
            if fault != nil { return }
            opened.apply(.truncate(0))
            if file == nil { state.edit(.set(name, opened)) }
        }
        return Opened(opened, path, self)
    }

    func makeDirectory(_ path: String) throws(FileError) {}

    func list(_ path: String) throws(FileError) -> [String] {
        state.withLock { Array($0.names.keys) }
    }

    func size(of path: String) throws(FileError) -> Int64? {
        state.withLock { $0.names[Self.last(path)].map { Int64($0.bytes.count) } }
    }

    func remove(_ path: String) throws(FileError) {
        try operation("remove", path) { state, fault in
            if fault == nil { state.edit(.remove(Self.last(path))) }
        }
    }

    func rename(_ path: String, to target: String) throws(FileError) {
        try operation("rename", path) { state, fault in
            guard fault == nil, let file = state.names[Self.last(path)] else { return }
            state.edit(.rename(Self.last(path), to: Self.last(target), file))
        }
    }

    func syncDirectory(_ path: String) throws(FileError) {
        try operation("sync", path) { state, fault in
            if fault != nil { return }
            state.durableNames = state.names
            state.pendingNames = []
        }
    }

    func hasRoom(for count: Int64, in directory: String) -> Bool { true }

    func bootIdentifier() -> String? { nil }

    func lock(_ path: String) throws(FileError) -> any FileLock {
        guard state.withLock({ $0.locks.insert(path).inserted }) else {
            throw FileError(fault: .locked, operation: "lock", path: path)
        }
        return Held(path, self)
    }

    private final class Held: FileLock {
        private let path: String
        private let disk: CrashDisk

        init(_ path: String, _ disk: CrashDisk) {
            self.path = path
            self.disk = disk
        }

        func release() {
            disk.state.withLock { _ = $0.locks.remove(path) }
        }
    }
}

/// An open file of a ``CrashDisk``.
private final class Opened: OpenFile {
    private let file: CrashDisk.File
    private let path: String
    private let disk: CrashDisk
    private let isClosed = Locked(false)

    init(_ file: CrashDisk.File, _ path: String, _ disk: CrashDisk) {
        self.file = file
        self.path = path
        self.disk = disk
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        try operation("write") { fault in
            let written = fault == nil ? bytes.count : bytes.count / 2
            file.apply(.write(Array(bytes.prefix(written)), at: Int(offset)))
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileError) -> Int {
        disk.state.withLock { _ in
            let rest = file.bytes.dropFirst(Int(offset)).prefix(buffer.count)
            buffer.copyBytes(from: rest)
            return rest.count
        }
    }

    func allocate(_ size: Int64) throws(FileError) {}

    func truncate(to size: Int64) throws(FileError) {
        try operation("truncate") { fault in
            if fault == nil { file.apply(.truncate(Int(size))) }
        }
    }

    func sync() throws(FileError) {
        try operation("sync") { fault in
            // After a failed sync the kernel calls the bytes clean; they never get to the device.
            if fault == nil { file.durable = file.bytes }
            file.pending = []
        }
    }

    func checkWhole() throws(FileError) {
        if disk.state.withLock({ $0.hollow.contains(CrashDisk.last(path)) }) {
            throw FileError(fault: .inputOutput, operation: "check", path: path)
        }
    }

    func size() throws(FileError) -> Int64 {
        disk.state.withLock { _ in Int64(file.bytes.count) }
    }

    func close() {
        isClosed.withLock { $0 = true }
    }

    private func operation(_ name: String, _ body: (DiskFault?) -> Void) throws(FileError) {
        if isClosed.withLock({ $0 }) { throw FileError(fault: .other, operation: name, path: path) }
        try disk.operation(name, path) { _, fault in body(fault) }
    }
}

extension CrashDisk.State {
    mutating func edit(_ edit: CrashDisk.NameEdit) {
        names.apply(edit)
        pendingNames.append(edit)
    }
}

extension [String: CrashDisk.File] {
    fileprivate mutating func apply(_ edit: CrashDisk.NameEdit) {
        switch edit {
        case .set(let name, let file): self[name] = file
        case .remove(let name): self[name] = nil
        case .rename(let name, let target, let file):
            self[target] = file
            if self[name] === file { self[name] = nil }
        }
    }
}

extension CrashDisk.File {
    fileprivate func survivors(_ random: inout SeededGenerator) -> [UInt8] {
        var bytes = durable
        for edit in pending {
            switch edit {
            case .truncate: if random.below(2) == 0 { bytes.apply(edit) }
            case .write(let written, let offset):
                let part = [0, written.count, random.below(written.count + 1)][random.below(3)]
                if part > 0 { bytes.apply(.write(Array(written.prefix(part)), at: offset)) }
            }
        }
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func apply(_ edit: CrashDisk.Edit) {
        switch edit {
        case .truncate(let size): resize(to: size)
        case .write(let bytes, let offset):
            if count < offset + bytes.count { resize(to: offset + bytes.count) }
            replaceSubrange(offset..<offset + bytes.count, with: bytes)
        }
    }

    private mutating func resize(to size: Int) {
        if size < count { removeLast(count - size) } else { append(contentsOf: repeatElement(0, count: size - count)) }
    }
}
