import Foundation

extension StoreFiles {
    /// Takes the lock and reads what is kept. No file or record that is there is changed when it fails; the directory
    /// and the lock file may have been made.
    mutating func load() throws(StoreError) -> StoreContents {
        switch phase {
        case .new: break
        case .open: throw StoreError(.inUse, "The store in \(directory) is another manager's; make one for each.")
        case .closed: throw notOpen
        }
        let lock = try takeLock()
        do throws(StoreError) {
            let problems = try restore()
            self.lock = lock
            phase = .open
            return StoreContents(values: image.values, problems: problems)
        } catch {
            lock.release()
            throw error
        }
    }

    /// Takes the lock again if somebody has removed it, alone or with the directory, which is then made again. What another
    /// one has put there since stays.
    mutating func claimDirectory() throws(StoreError) {
        guard let old = lock, !old.isInPlace else { return }
        let new = try takeLock()
        let isOurs = isJournalOurs
        do throws(StoreError) {
            let names = try names()
            guard !isOurs, names.contains(where: StoreFileName.isOfRecords) else {
                old.release()
                lock = new
                return
            }
            throw StoreError(
                .inUse,
                "The lock of \(directory) was removed while the directory was in use, and there are records of another session "
                    + "manager now; begin again with what is there, or use another directory.")
        } catch {
            new.release()
            throw error
        }
    }

    /// Whether nobody has removed the journal, or written to it.
    private var isJournalOurs: Bool {
        guard let journal, journal.file.isInPlace else { return false }
        return (try? journal.file.size()) == journal.end
    }

    private func takeLock() throws(StoreError) -> any FileLock {
        do throws(FileError) {
            try disk.makeDirectory(directory)
            return try disk.lock(path(StoreFileName.lock))
        } catch {
            if error.fault != .locked { throw unreadable(error) }
            throw StoreError(
                .inUse,
                "The directory \(directory) is in use by another session manager, in this process or another; "
                    + "close that one or use another directory.")
        }
    }

    /// Reads the files, puts them in order, and says what was wrong with them.
    private mutating func restore() throws(StoreError) -> [String] {
        let inventory = StoreInventory(try names())
        if inventory.highest > StoreFormat.largestStart { throw tooHigh(inventory.highest) }
        var restoration = StoreRestoration(Damage(directory: directory, target: inventory.nextCorrupt))
        for (kind, generation) in inventory.current {
            try read(StoreFileName.name(kind, generation), kind, &restoration)
        }
        if let missing = inventory.missing { restoration.noteMissing(missing) }
        image = restoration.image
        let isWornOut = restoration.sequence > StoreFormat.largestStart
        // The next generation begins anew: what is written from here on has to be readable, too.
        sequence = isWornOut ? 0 : restoration.sequence
        generation = inventory.highest
        if !restoration.damage.isEmpty { return repair(restoration.damage, besides: inventory.lastCorrupt) }
        if syncNames() {
            if !isWornOut { openJournal(cutTo: restoration.journalEnd) }
            removeLeftovers()
        }
        // Does all of this another way. Where that fails, too, the next commit tries it again.
        if journal == nil, !inventory.current.isEmpty { try? beginGeneration() }
        return []
    }

    /// What was read has its names for good: a process that died may have left them to the kernel alone, and a crash
    /// could bring back what they have replaced.
    private func syncNames() -> Bool {
        do throws(FileError) {
            try disk.syncDirectory(directory)
            return true
        } catch {
            return false
        }
    }

    private func names() throws(StoreError) -> [String] {
        do throws(FileError) {
            return try disk.list(directory)
        } catch {
            throw unreadable(error)
        }
    }

    private func read(
        _ name: String, _ kind: StoreFileKind, _ restoration: inout StoreRestoration
    ) throws(StoreError) {
        let bytes = try contents(of: name)
        do throws(FrameScanner.UnknownVersion) {
            try restoration.read(bytes, kind, name)
        } catch {
            throw StoreError(
                .unknownVersion,
                "\(path(name)) has format \(error.version) of a later version of this library, which reads up to "
                    + "\(StoreFormat.version); update the program or use another directory.")
        }
    }

    private func contents(of name: String) throws(StoreError) -> FileContents {
        do throws(FileError) {
            let file = try disk.open(path(name), .read)
            defer { file.close() }
            return try file.readAll(upTo: StoreFormat.fileBound - 1, at: path(name))
        } catch {
            throw unreadable(error)
        }
    }

    /// Goes on with the journal that is there, if that can be done.
    private mutating func openJournal(cutTo end: Int64) {
        guard end > 0 else { return }
        do throws(FileError) {
            let file = try disk.open(path(StoreFileName.name(.journal, generation)), .readWrite)
            if try file.size() > end { try file.truncate(to: end) }
            // What is told from now on must not be taken back by a crash: neither an end that was cut, which behind newer
            // commits would pass for damage, nor commits that only the kernel has had from a process that died.
            try file.sync()
            journal = Journal(file: file, end: end)
        } catch {
            journal = nil
        }
    }

    /// Sets the damaged bytes aside and leaves the damaged files behind. An earlier launch may have got as far as the first,
    /// and would be followed by one more with each that cannot do the second: these take the place of its bytes.
    private mutating func repair(_ damage: Damage, besides last: String?) -> [String] {
        var damage = damage
        if let last, !damage.bytes.isEmpty, hasSetAside(damage.bytes, in: last) { damage.target = last }
        self.damage = damage
        do throws(FileError) {
            try beginGeneration()
        } catch {
            // Tried again before anything is written; the damaged files stay until then.
            return damage.sentences(self.damage == nil ? nil : error)
        }
        return damage.sentences(nil)
    }

    /// Whether nothing is in a file but these bytes, or the first of them.
    private func hasSetAside(_ bytes: [UInt8], in name: String) -> Bool {
        do throws(FileError) {
            let file = try disk.open(path(name), .read)
            defer { file.close() }
            return try file.readAll(upTo: Int64(bytes.count), at: path(name)).withBytes { bytes.starts(with: $0) }
        } catch {
            return false
        }
    }

    private func tooHigh(_ generation: UInt64) -> StoreError {
        StoreError(
            .disk(.other),
            "A file in \(directory) says that it is of generation \(generation), which no store gets to; remove it or use "
                + "another directory.")
    }

    private func unreadable(_ error: FileError) -> StoreError {
        let advice =
            error.fault == .inputOutput
            ? "; try again, and if it stays so copy the file to another disk as far as it can be read, and move it away"
            : ""
        return StoreError(.disk(error.fault), "The store in \(directory) could not be read: \(error)\(advice).")
    }
}

/// Which of the files in a store's directory count.
private struct StoreInventory {
    /// In the order they are read.
    private(set) var current: [(kind: StoreFileKind, generation: UInt64)] = []
    /// The snapshot that should be there and is not.
    private(set) var missing: String?
    private(set) var highest: UInt64 = 0
    /// The file that damaged bytes were set aside in last, and the one for the next.
    private(set) var lastCorrupt: String?
    let nextCorrupt: String

    init(_ names: [String]) {
        let snapshot = names.compactMap { StoreFileName.generation(of: $0, .snapshot) }.max()
        let journals = names.compactMap { StoreFileName.generation(of: $0, .journal) }
            .filter { $0 >= snapshot ?? 0 }.sorted()
        lastCorrupt = names.compactMap(StoreFileName.corruptNumber).max().map(StoreFileName.corrupt)
        nextCorrupt = StoreFileName.corrupt(StoreFileName.nextCorruptNumber(besides: names))
        if let snapshot { current.append((.snapshot, snapshot)) }
        current += journals.map { (.journal, $0) }
        highest = journals.last ?? snapshot ?? 0
        if let last = journals.last, last != snapshot { missing = StoreFileName.name(.snapshot, last) }
    }
}
