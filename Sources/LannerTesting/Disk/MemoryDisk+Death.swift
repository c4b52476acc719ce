import LannerCore
import LannerMachine

// What the device has of a ``MemoryDisk``, and what is left when the machine dies.

extension MemoryDiskState {
    /// The device has a file's bytes now, but for those that an earlier sync has failed to write.
    mutating func sync(_ file: File) {
        var bytes = file.bytes
        if !file.forgotten.isEmpty {
            file.durable.truncate(to: bytes.size)
            for range in file.forgotten.clipped(to: bytes.size).ranges { bytes.copy(range, of: file.durable) }
        }
        (file.durable, file.unsynced) = (bytes, [])
        changed[ObjectIdentifier(file)] = nil
    }

    /// A sync has failed: what was to be written counts as written from now on, as kernels have it.
    func forgetUnsynced(_ file: File) {
        for edit in file.unsynced {
            if case .write(let range) = edit { file.forgotten.insert(range) }
        }
        file.unsynced.removeAll { if case .write = $0 { true } else { false } }
    }

    /// The paths of files of which something is not on the device.
    mutating func unsyncedFiles() -> [String] {
        changed = changed.filter { !$0.value.unsynced.isEmpty }
        return changed.values.compactMap(\.name).sorted()
    }

    /// A sync of all files could not write this one, whose next own sync has to tell.
    func failSync(of path: String, _ fault: DiskFault) {
        guard let file = file(at: path) else { return }
        forgetUnsynced(file)
        file.untold = fault
    }

    /// A change of names is about to be made. Before it is: until then the device has the names as they are, or as they
    /// were noted.
    mutating func note(_ edit: MemoryDisk.NameEdit) {
        unsyncedNames.append(edit)
        nameEdits += 1
        for path in edit.paths { durableNames[path, default: DurableName(file: files[path])].lastEdit = nameEdits }
    }

    /// Whose a name is for the device.
    func durableFile(at path: String) -> File? {
        if let name = durableNames[path] { name.file } else { files[path] }
    }

    /// A device has all names now.
    mutating func syncAllNames(of device: String) {
        sync(unsyncedNames.map { edit in edit.paths.contains { self.device(of: $0) == device } })
    }

    /// The device has the names of a directory now, and of all that was changed before them what it writes in order.
    mutating func syncNames(in directory: String) {
        guard let last = unsyncedNames.lastIndex(where: { $0.concerns(directory) }) else { return }
        if !ordersNames || !mounts.isEmpty { return sync(namesBefore(last, in: directory)) }
        let synced = unsyncedNames[...last]
        unsyncedNames.removeFirst(last + 1)
        for edit in synced { durableNames.apply(edit) }
        let lastSynced = nameEdits - unsyncedNames.count
        for path in synced.flatMap(\.paths) where durableNames[path].map({ $0.lastEdit <= lastSynced }) == true {
            durableNames[path] = nil
        }
    }

    /// Which changes, up to one, come to the device with the names of a directory: those before it on the same device, or
    /// only those of these names, and of what they depend on.
    private func namesBefore(_ last: Int, in directory: String) -> [Bool] {
        let device = device(of: directory)
        var needed: Set<String> = []
        var isChosen = unsyncedNames.map { _ in false }
        for index in (0...last).reversed() {
            let edit = unsyncedNames[index]
            let isNeeded = edit.concerns(directory) || edit.paths.contains(where: needed.contains)
            guard isNeeded || ordersNames && edit.paths.contains(where: { self.device(of: $0) == device })
            else { continue }
            isChosen[index] = true
            needed.formUnion(edit.paths)
        }
        return isChosen
    }

    /// Some of the changes of names are on the device now.
    private mutating func sync(_ isChosen: [Bool]) {
        let (edits, chosen) = (unsyncedNames, zip(unsyncedNames, isChosen).filter(\.1).map(\.0))
        for edit in chosen { durableNames.apply(edit) }
        unsyncedNames = zip(edits, isChosen).filter { !$0.1 }.map(\.0)
        let unsynced = Set(unsyncedNames.flatMap(\.paths))
        for path in chosen.flatMap(\.paths) where !unsynced.contains(path) { durableNames[path] = nil }
    }

    /// Leaves what the device has, and of the rest what chance gives: names of changes up to one of them, or of any; of
    /// each write nothing, a part or all.
    mutating func loseUnsynced(_ random: inout some RandomNumberGenerator) {
        var names = durableNames
        if Bool.random(using: &random) {
            for edit in unsyncedNames.prefix(Int.random(in: 0...unsyncedNames.count, using: &random)) {
                names.apply(edit)
            }
        } else {
            for edit in unsyncedNames where Bool.random(using: &random) { names.apply(edit) }
        }
        for path in files.paths where names[path] == nil { names[path] = DurableName(file: files[path]) }
        files = MemoryNames()
        var survivors: [ObjectIdentifier: File] = [:]
        for path in names.keys.sorted() {
            guard let file = names[path]?.file else { continue }
            let survivor = survivors[ObjectIdentifier(file)] ?? File(after: file)
            if survivors.updateValue(survivor, forKey: ObjectIdentifier(file)) == nil {
                survivor.bytes = file.survivors(&random)
                sync(survivor)
            }
            bind(path, to: survivor)
        }
        (unsyncedNames, durableNames) = ([], [:])
        endProcess()
    }
}

extension MemoryDisk {
    /// Whether the device has a file's name and these of its bytes, as far as the file goes.
    package func hasDurably(_ ranges: [Range<Int64>], of path: String) -> Bool {
        let path = MemoryDiskState.normal(path)
        return state.withLock { state in
            guard let file = state.file(at: path) else { return true }
            let asked = ByteRanges(ranges).clipped(to: file.bytes.size)
            if asked.isEmpty { return true }
            return state.durableFile(at: path) === file && asked.intersection(file.missing).isEmpty
        }
    }

    /// Whether a sync of this process could not write what a dead one had left of a file, which no later one will.
    package func hasLostInheritance(at path: String) -> Bool {
        state.withLock { state in
            guard let file = state.file(at: MemoryDiskState.normal(path)) else { return false }
            return !file.forgotten.intersection(file.inherited).isEmpty
        }
    }

    /// A change of a file's bytes that the death of the machine may lose.
    enum Edit {
        case write(Range<Int64>)
        case truncate(to: Int64)
    }

    /// A change of names that the death of the machine may lose.
    enum NameEdit {
        case set(String, MemoryDiskState.File)
        case remove(String)
        case rename(String, to: String, MemoryDiskState.File)

        /// The names that are changed.
        var paths: [String] {
            switch self {
            case .set(let path, _), .remove(let path): [path]
            case .rename(let path, let target, _): [path, target]
            }
        }

        func concerns(_ directory: String) -> Bool {
            paths.contains { $0.directory == directory }
        }
    }
}

extension [String: MemoryDiskState.DurableName] {
    /// Changes names that were noted.
    fileprivate mutating func apply(_ edit: MemoryDisk.NameEdit) {
        switch edit {
        case .set(let path, let file): self[path]?.file = file
        case .remove(let path): self[path]?.file = nil
        case .rename(let path, let target, let file):
            self[target]?.file = file
            if self[path]?.file === file { self[path]?.file = nil }
        }
    }
}

extension MemoryDiskState.File {
    /// What was written and is not on the device.
    var missing: ByteRanges {
        unsynced.reduce(into: forgotten) { if case .write(let range) = $1 { $0.insert(range) } }
    }

    fileprivate func survivors(_ random: inout some RandomNumberGenerator) -> MemoryBytes {
        var survivors = durable
        for edit in unsynced {
            switch edit {
            case .truncate(let size):
                if Bool.random(using: &random) { survivors.truncate(to: size) }
            case .write(let range):
                let length = range.upperBound - range.lowerBound
                let parts = [0, length, Int64.random(in: 0...length, using: &random), max(0, length - 32)]
                let part = parts.randomElement(using: &random) ?? 0
                // The device may have had the end first.
                let start = Int.random(in: 0..<4, using: &random) > 0 ? range.lowerBound : range.upperBound - part
                survivors.copy(start..<start + part, of: bytes)
                // A file may have got its length and not yet its bytes.
                if survivors.size < range.upperBound, Bool.random(using: &random) {
                    survivors.truncate(to: range.upperBound)
                }
            }
        }
        return survivors
    }
}
