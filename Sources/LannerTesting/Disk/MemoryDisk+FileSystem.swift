import Foundation
import LannerCore

extension MemoryDisk: FileSystem {
    package func open(_ path: String, _ mode: FileMode) throws(FileError) -> any OpenFile {
        let path = MemoryDiskState.normal(path)
        let file = try perform(.open, path) { state throws(Refusal) in try state.open(path, mode) }
        return MemoryOpenFile(file, path: path, disk: self)
    }

    package func makeDirectory(_ path: String) throws(FileError) {
        let path = MemoryDiskState.normal(path)
        try perform(.makeDirectory, path) { state throws(Refusal) in
            guard state.makeDirectory(path) else { throw Refusal(.inTheWay) }
        }
    }

    package func list(_ path: String) throws(FileError) -> [String] {
        let path = MemoryDiskState.normal(path)
        return try perform(.list, path) { state throws(Refusal) in
            guard let names = state.names(in: path) else {
                throw Refusal(state.file(at: path) == nil ? .notFound : .inTheWay)
            }
            return names.sorted()
        }
    }

    package func size(of path: String) throws(FileError) -> Int64? {
        let path = MemoryDiskState.normal(path)
        return try perform(.size, path) { state throws(Refusal) in
            guard !state.isDirectory(path) else { throw Refusal(.inTheWay) }
            return state.file(at: path)?.bytes.size
        }
    }

    package func fingerprint(of path: String) throws(FileError) -> FileFingerprint? {
        let path = MemoryDiskState.normal(path)
        return try perform(.size, path) { state throws(Refusal) in
            guard !state.isDirectory(path) else { throw Refusal(.inTheWay) }
            return state.file(at: path)?.fingerprint
        }
    }

    package func remove(_ path: String) throws(FileError) {
        let path = MemoryDiskState.normal(path)
        try perform(.remove, path) { state throws(Refusal) in
            guard !state.isDirectory(path) else { throw Refusal(.inTheWay) }
            state.take(path)
        }
    }

    package func rename(_ path: String, to target: String) throws(FileError) {
        _ = try rename(path, to: target, replacing: true)
    }

    package func renameIfFree(_ path: String, to target: String) throws(FileError) -> Bool {
        try rename(path, to: target, replacing: false)
    }

    private func rename(_ path: String, to target: String, replacing: Bool) throws(FileError) -> Bool {
        let path = MemoryDiskState.normal(path)
        let target = MemoryDiskState.normal(target)
        return try perform(.rename, path) { state throws(Refusal) in
            guard let file = state.file(at: path) else {
                throw Refusal(state.isDirectory(path) ? .inTheWay : .notFound)
            }
            if !replacing, state.file(at: target) != nil || state.isDirectory(target) { return false }
            if let obstacle = state.obstacle(at: target) { throw Refusal(obstacle) }
            if state.device(of: path) != state.device(of: target) { throw Refusal(.acrossDevices(path, to: target)) }
            // As of two names of one file.
            if file !== state.file(at: target) { state.move(file, from: path, to: target) }
            return true
        }
    }

    /// From the real disk, unless the test wants files to be copied.
    package func takeIn(_ file: String, as path: String, leavesIt isToStay: Bool) -> Bool {
        guard takesFilesIn, let bytes = FileManager.default.contents(atPath: file) else { return false }
        let path = MemoryDiskState.normal(path)
        let taken: Void? = try? perform(.rename, path) { state throws(Refusal) in
            if let obstacle = state.obstacle(at: path) { throw Refusal(obstacle) }
            guard Int64(bytes.count) <= state.free else { throw Refusal(.noSpace) }
            let new = state.makeFile()
            state.put(new, at: path)
            new.noteWrite(0..<Int64(bytes.count))
            state.change(new) { $0.write([UInt8](bytes)) }
        }
        if taken != nil, !isToStay { try? FileManager.default.removeItem(atPath: file) }
        return taken != nil
    }

    package func mayTakeIn(into directory: String, leavingThem areToStay: Bool) -> Bool { takesFilesIn }

    package func isLastCounted(_ path: String, beside other: String) -> Bool {
        state.withLock { state in state.file(at: path).map { $0 === state.file(at: other) } ?? false }
    }

    package func areApart(_ directory: String, _ other: String) -> Bool {
        let paths = [directory, other].map(MemoryDiskState.normal)
        return state.withLock { $0.device(of: paths[0]) != $0.device(of: paths[1]) }
    }

    package func fillsGaps(in directory: String) -> Bool { state.withLock { $0.fillsGaps } }
    package func keepsUnsynced(in directory: String) -> Bool { state.withLock { $0.keepsUnsynced } }

    package func syncDirectory(_ path: String) throws(FileError) {
        let path = MemoryDiskState.normal(path)
        try perform(.syncDirectory, path) { state throws(Refusal) in
            if !state.isDirectory(path) { throw Refusal(.notFound) }
            state.syncNames(in: path)
        }
    }

    /// For two files and more. Syncs everything, as systems do: a sync is counted for each file of which something is
    /// not on the device, and what fails for one that was not asked for is told by its next own sync. Nil when names
    /// cannot be kept.
    package func syncAll(_ files: [any OpenFile]) -> [Result<Void, FileError>]? {
        let asked = files.compactMap { $0 as? MemoryOpenFile }
        guard asked.count > 1, asked.count == files.count else { return nil }
        let (devices, unsynced) = state.withLock { state in
            let devices = Set(asked.map { state.device(of: $0.path) })
            return (devices, state.unsyncedFiles().filter { devices.contains(state.device(of: $0)) })
        }
        guard devices.count == 1, let device = devices.first else { return nil }
        for path in unsynced { syncFile(path) }
        do throws(FileError) {
            try perform(.syncDirectory, asked[0].path.directory) { state in state.syncAllNames(of: device) }
        } catch {
            return nil
        }
        return asked.map { file in Result { () throws(FileError) in try file.tell() } }
    }

    private func syncFile(_ path: String) {
        do throws(FileError) {
            try perform(.sync, path) { state in state.file(at: path).map { state.sync($0) } }
            state.withLock { $0.whileSyncing }?(path)
        } catch {
            // The end of the process is no failure of the device.
            if error.fault != .other { state.withLock { $0.failSync(of: path, error.fault) } }
        }
    }

    package func hasRoom(for count: Int64, in directory: String) -> Bool {
        state.withLock { ($0.claimedFreeSpace ?? $0.free) >= count }
    }

    package func lock(_ path: String) throws(FileError) -> any FileLock {
        let path = MemoryDiskState.normal(path)
        let number = try perform(.lock, path) { state throws(Refusal) in
            if let obstacle = state.obstacle(at: path) { throw Refusal(obstacle) }
            guard let number = state.takeLock(path) else { throw Refusal(.locked) }
            if state.file(at: path) == nil { state.put(state.makeFile(), at: path) }
            return number
        }
        return MemoryLock(path: path, number: number, disk: self)
    }

    package func bootIdentifier() -> String? {
        boot
    }

    /// Waits where operations are held back, then does one thing under the lock, unless a fault is due.
    fileprivate func perform<Result>(
        _ operation: Operation, _ path: String, _ body: (inout MemoryDiskState) throws(Refusal) -> Result
    ) throws(FileError) -> Result {
        state.withLock { $0.holds[operation] }?.wait()
        let result: Swift.Result<Result, Refusal> = state.withLock { state in
            if let fault = state.begin(operation, path) { return .failure(Refusal(fault)) }
            do throws(Refusal) { return .success(try body(&state)) } catch { return .failure(error) }
        }
        switch result {
        case .success(let value): return value
        case .failure(let refusal):
            throw refusal.error ?? FileError(fault: refusal.fault, operation: operation.rawValue, path: path)
        }
    }
}

/// What goes wrong inside the disk, before it is known as an operation's failure.
private struct Refusal: Error {
    let fault: DiskFault
    /// One that is more than its fault.
    let error: FileError?

    init(_ fault: DiskFault) {
        (self.fault, error) = (fault, nil)
    }

    init(_ error: FileError) {
        (fault, self.error) = (error.fault, error)
    }
}

extension MemoryDiskState {
    fileprivate mutating func open(_ path: String, _ mode: FileMode) throws(Refusal) -> File {
        if let obstacle = obstacle(at: path) { throw Refusal(obstacle) }
        let existing = file(at: path)
        switch mode {
        case .read:
            guard existing != nil else { throw Refusal(.notFound) }
        case .readWrite:
            break
        case .create, .createPrivate:
            if let existing {
                existing.noteTruncate(to: 0)
                change(existing) { $0 = MemoryBytes() }
            }
        }
        let file = existing ?? makeFile()
        if existing == nil { put(file, at: path) }
        openHandle(of: file)
        return file
    }
}

// MARK: Open files

private final class MemoryOpenFile: OpenFile {
    private let file: MemoryDiskState.File
    let path: String
    private let disk: MemoryDisk
    private let isOpen = Locked(true)
    private let process: Int

    init(_ file: MemoryDiskState.File, path: String, disk: MemoryDisk) {
        self.file = file
        self.path = path
        self.disk = disk
        process = disk.state.withLock { $0.process }
    }

    deinit {
        close()
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileError) {
        try perform(.write) { state throws(Refusal) in
            try Self.check(offset, bytes.count)
            for piece in MemoryBytes.pieces(of: bytes.count, at: offset) {
                let position = offset + Int64(piece.start)
                let cost = file.bytes.cost(ofWriting: piece.count, at: position)
                guard cost <= state.free else { throw Refusal(.noSpace) }
                let part = UnsafeRawBufferPointer(rebasing: bytes[piece.start..<(piece.start + piece.count)])
                file.noteWrite(position..<position + Int64(piece.count))
                state.change(file) { $0.write(part, at: position) }
                state.counters.bytesWritten += Int64(piece.count)
            }
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileError) -> Int {
        try perform(.read) { state throws(Refusal) in
            try Self.check(offset, buffer.count)
            let count = Int(max(0, min(Int64(buffer.count), file.bytes.size - offset)))
            for piece in MemoryBytes.pieces(of: count, at: offset) {
                let part = UnsafeMutableRawBufferPointer(
                    rebasing: buffer[piece.start..<(piece.start + piece.count)])
                file.bytes.read(into: part, at: offset + Int64(piece.start))
            }
            state.counters.bytesRead += Int64(count)
            return count
        }
    }

    func allocate(_ size: Int64) throws(FileError) {
        try perform(.allocate) { state throws(Refusal) in
            try Self.check(size, 0)
            guard file.bytes.cost(ofReserving: size) <= state.free else {
                // As real ones, of which one that fails may have taken all there was.
                state.change(file) { $0.truncate(to: $0.size) }
                throw Refusal(.noSpace)
            }
            state.change(file) { $0.reserve(size) }
        }
    }

    func truncate(to size: Int64) throws(FileError) {
        try perform(.truncate) { state throws(Refusal) in
            try Self.check(size, 0)
            file.noteTruncate(to: size)
            state.change(file) { $0.truncate(to: size) }
        }
    }

    func sync() throws(FileError) {
        do throws(FileError) {
            try perform(.sync) { state throws(Refusal) in
                if let fault = file.tell() { throw Refusal(fault) }
                state.sync(file)
            }
            disk.state.withLock { $0.whileSyncing }?(path)
        } catch {
            // The end of the process is no failure of the device.
            if error.fault != .other { disk.state.withLock { $0.forgetUnsynced(file) } }
            throw error
        }
    }

    /// What a sync of all files could not write of this one.
    func tell() throws(FileError) {
        let isAlive = isOpen.withLock { $0 }
        let fault = disk.state.withLock { isAlive && $0.process == process && $0.isAlive ? file.tell() : .other }
        if let fault { throw FileError(fault: fault, operation: "sync", path: path) }
    }

    func size() throws(FileError) -> Int64 {
        try perform(.size) { _ in file.bytes.size }
    }

    var isInPlace: Bool { disk.state.withLock { $0.file(at: path) === file } }

    func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { disk.state.withLock { if $0.process == process { $0.closeHandle(of: file) } } }
    }

    private static func check(_ offset: Int64, _ count: Int) throws(Refusal) {
        if offset < 0 { throw Refusal(.other) }
        if offset.addingReportingOverflow(Int64(count)).overflow { throw Refusal(.tooLarge) }
    }

    private func perform<Result>(
        _ operation: MemoryDisk.Operation, _ body: (inout MemoryDiskState) throws(Refusal) -> Result
    ) throws(FileError) -> Result {
        try disk.perform(operation, path) { state throws(Refusal) in
            guard isOpen.withLock({ $0 }), state.process == process else { throw Refusal(.other) }
            return try body(&state)
        }
    }
}

private final class MemoryLock: FileLock {
    private let path: String
    private let number: Int
    private let disk: MemoryDisk

    init(path: String, number: Int, disk: MemoryDisk) {
        self.path = path
        self.number = number
        self.disk = disk
    }

    deinit {
        release()
    }

    func release() {
        disk.state.withLock { $0.releaseLock(path, number) }
    }
}
