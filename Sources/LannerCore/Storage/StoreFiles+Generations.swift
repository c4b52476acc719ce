import Foundation

extension StoreFiles {
    /// Writes a snapshot of all that is kept and opens a new journal beside it.
    ///
    /// When it fails while the snapshot is written, the old journal is as good as before. From the rename on it is not:
    /// after a crash the new snapshot may count, and the old journal not. Then the next try makes another generation.
    mutating func beginGeneration() throws(FileError) {
        try beginSnapshot()
        try beginJournal()
    }

    /// Writes a snapshot of all that is kept. When this succeeds it counts for good, whether or not it gets a journal.
    mutating func beginSnapshot() throws(FileError) {
        // In a directory that is another's now nothing is changed.
        if lock?.isInPlace == false {
            throw FileError(fault: .notFound, operation: "find", path: path(StoreFileName.lock))
        }
        try setAside()
        let next = generation + 1
        let unfinished = path(StoreFileName.unfinished(next))
        try writeSnapshot(unfinished)
        journal?.file.close()
        journal = nil
        generation = next
        do throws(FileError) {
            try disk.rename(unfinished, to: path(StoreFileName.name(.snapshot, next)))
        } catch {
            // The next try makes another: they would add up.
            try? disk.remove(unfinished)
            throw error
        }
        try disk.syncDirectory(directory)
        owesGeneration = false
        // The space may be what the journal needs.
        removeLeftovers()
    }

    /// Opens a new journal beside the snapshot that was written just now.
    mutating func beginJournal() throws(FileError) {
        journal = try makeJournal(path(StoreFileName.name(.journal, generation)))
    }

    /// Copies damaged bytes to a file beside; the directory is synced with the snapshot's name.
    private mutating func setAside() throws(FileError) {
        guard let damage else { return }
        if !damage.bytes.isEmpty { try write(damage.bytes, to: path(damage.target)) }
        self.damage = nil
    }

    private func write(_ bytes: [UInt8], to path: String) throws(FileError) {
        do throws(FileError) {
            let file = try disk.open(path, .createPrivate)
            defer { file.close() }
            try file.write(bytes, at: 0)
            try file.sync()
        } catch {
            // The space may be what the commits need; the bytes are still where they were.
            try? disk.remove(path)
            throw error
        }
    }

    /// Removes what belongs to earlier generations, and what a crash left half written.
    func removeLeftovers() {
        guard let names = try? disk.list(directory) else { return }
        for name in names where isLeftover(name) {
            // What stays is removed the next time, and counts for nothing until then.
            try? disk.remove(path(name))
        }
    }

    private func isLeftover(_ name: String) -> Bool {
        let kinds: [StoreFileKind] = [.snapshot, .journal]
        return StoreFileName.isUnfinished(name)
            || kinds.contains { StoreFileName.generation(of: name, $0).map { $0 < generation } ?? false }
    }

    private func writeSnapshot(_ path: String) throws(FileError) {
        do throws(FileError) {
            let file = try disk.open(path, .createPrivate)
            defer { file.close() }
            try writeFrames(to: file)
            try file.sync()
            try file.checkWhole()
        } catch {
            // The space may be what the commits need.
            try? disk.remove(path)
            throw error
        }
    }

    private func writeFrames(to file: any OpenFile) throws(FileError) {
        var writer = FrameWriter(file, at: 0)
        writer.appendHeader(.snapshot, base: sequence)
        var number = sequence
        // In an order that is the same every time.
        for key in image.values.keys.sorted() {
            guard let value = image.values[key] else { continue }
            number += 1
            try writer.append(CollectionOfOne(.put(key: key, value: value)), sequence: number)
        }
        try writer.append(EmptyCollection(), sequence: number + 1)
        try writer.flush()
    }

    private func makeJournal(_ path: String) throws(FileError) -> Journal {
        let file = try disk.open(path, .createPrivate)
        do throws(FileError) {
            var writer = FrameWriter(file, at: 0)
            writer.appendHeader(.journal, base: sequence)
            try writer.flush()
            // A header that a crash takes would pass for damage.
            try file.sync()
            try disk.syncDirectory(directory)
            return Journal(file: file, end: writer.end)
        } catch {
            file.close()
            throw error
        }
    }
}
