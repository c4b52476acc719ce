import Foundation
import Lanner

/// The directory that holds what is not finished, beside the files.
struct StateDirectory {
    let path: String
    let seal: StateSeal

    init(in directory: String) {
        path = TargetName.path(TargetName.stateDirectory, in: directory)
        seal = StateSeal(directory: path)
    }

    /// Those around it that are not there yet, the innermost first.
    var missingDirectories: [String] {
        var missing: [String] = []
        var above = path.directory
        var status = stat()
        while lstat(above, &status) != 0, errno == ENOENT, above != above.directory {
            missing.append(above)
            above = above.directory
        }
        return missing
    }

    /// Whether anything is in its place.
    var isThere: Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// Makes it, for its owner alone; says what is wrong where somebody else has: he could read what is sent with requests,
    /// and put other files in the place of what was downloaded.
    func claim() -> Trouble? {
        for _ in 0..<1000 {
            let (above, disk) = (path.directory, PosixFileSystem())
            try? disk.makeDirectory(above)
            if mkdir(path, 0o700) == 0 {
                // Whoever finds it takes its name for one that is with the device; who makes it again tells why that is
                // not so.
                do { try disk.syncDirectory(above) } catch { rmdir(path) }
                return nil
            }
            let isThere = errno == EEXIST
            switch lookAtWhatIsThere(above) {
            // Another call has come to its end in between, and removed it.
            case .nothing where isThere: continue
            // What else is wrong is told by who uses it.
            case .nothing, .own: return nil
            case .trouble(let trouble): return trouble
            }
        }
        return nil
    }

    private enum Finding {
        case nothing, own
        case trouble(Trouble)
    }

    private func lookAtWhatIsThere(_ above: String) -> Finding {
        var (link, own) = (stat(), stat())
        if let file = Self.file(above) { return .trouble(Self.inTheWay(file)) }
        if lstat(path, &link) != 0 { return errno == ENOENT ? .nothing : .own }
        let isLink = link.st_mode & S_IFMT == S_IFLNK
        if isLink, access(path, F_OK) != 0, errno == ENOENT {
            return .trouble(
                Trouble(
                    code: "disk.inTheWay", reason: "\(path) is a link that leads nowhere", advice: "remove it",
                    exitCode: .disk))
        }
        if stat(path, &own) != 0 { return errno == ENOENT && !isLink ? .nothing : .own }
        let isOwn = link.st_uid == geteuid() && own.st_uid == geteuid()
        guard isOwn || !isLink && belongsToAll(own, above) else {
            let what = isLink ? "is a link, and it or what it leads to is another user's" : "is another user's"
            return .trouble(
                Trouble(
                    code: "disk.notPermitted", reason: "\(path) \(what)",
                    advice: "remove it, or choose another directory by -d", exitCode: .disk))
        }
        guard own.st_mode & S_IFMT == S_IFDIR else { return .trouble(Self.inTheWay(path)) }
        // Root leaves one that nobody else gets into.
        guard access(path, R_OK | W_OK | X_OK) == 0 else {
            if errno == ENOENT { return .nothing }
            return .trouble(
                Trouble(
                    code: "disk.notPermitted", reason: "\(path) may not be used by you",
                    advice: "remove it, change its permissions, or choose another directory by -d", exitCode: .disk))
        }
        // As it is made here: the library, which makes it again where somebody removes it, lets others look into it.
        if !isLink, own.st_uid == geteuid(), own.st_mode & 0o77 != 0 { chmod(path, own.st_mode & 0o7700) }
        return .own
    }

    /// The first on the way up from a path that is there, where it is no directory.
    private static func file(_ path: String) -> String? {
        var (place, status) = (path, stat())
        while stat(place, &status) != 0 {
            guard place != place.directory else { return nil }
            place = place.directory
        }
        return status.st_mode & S_IFMT == S_IFDIR ? nil : place
    }

    /// Whether all that anybody makes there is the same user's, as on a card, or over a network that takes root for nobody.
    private func belongsToAll(_ own: stat, _ above: String) -> Bool {
        var (name, new) = (Array((above + "/.lanner-XXXXXX").utf8CString), stat())
        let file = mkstemp(&name)
        guard file >= 0 else { return false }
        defer {
            close(file)
            unlink(name)
        }
        return fstat(file, &new) == 0 && new.st_uid == own.st_uid
    }

    /// Looks whether the records that are there were made here, unless they are taken over wherever they come from, and seals
    /// them. Says what keeps from it, but that there are none.
    func examine(adopts: Bool) -> Trouble? {
        let files = PosixFileSystem()
        do throws(FileError) {
            let lock = try files.lock(path + "/" + Cache.lockName)
            defer { lock.release() }
            let names = try files.list(path)
            if !adopts, names.contains(where: StoreFileName.hasRecords), !seal.isIntact(names) { return fromElsewhere }
            seal.put()
            return nil
        } catch {
            return switch error.fault {
            case .locked: inUse
            case .notFound: nil
            case _: Trouble(LannerError(ofStart: error, cache(filesIn: path.directory)))
            }
        }
    }

    private var fromElsewhere: Trouble {
        Trouble(
            code: "store.fromElsewhere",
            reason: "\(path) was not made here, but copied or unpacked; whoever made it may have put down anything as "
                + "downloaded",
            advice: "remove it, or go on with it by --adopt if you trust in what it has", exitCode: .disk)
    }

    /// By whom else, in the words of the command line.
    var inUse: Trouble {
        Trouble(
            code: "store.inUse", reason: "\(path) is in use by another lanner",
            advice: "wait until that has ended, or choose another directory by -d", exitCode: .failure)
    }

    private static func inTheWay(_ path: String) -> Trouble {
        Trouble(
            code: "disk.inTheWay", reason: "\(path) is no directory",
            advice: "move it away, or choose another directory by -d", exitCode: .disk)
    }

    /// Where everything is, in the words of the library. Paths stay as they were given, for messages: the process works in
    /// one directory.
    func cache(filesIn directory: String) -> Cache {
        Cache(
            "lanner", downloadPath: path, downloadTmpPath: Cache.defaultTmpPath(in: path), downloadFilePath: directory,
            on: PosixFileSystem())
    }

    /// Whether it is found by large letters as well, and so is everything beside it.
    var ignoresCase: Bool {
        var (one, other) = (stat(), stat())
        return stat(path, &one) == 0 && stat(path.directory + "/" + path.lastComponent.uppercased(), &other) == 0
            && one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }

    /// Removes the directory once its manager has been invalidated and had no download left.
    ///
    /// Only what the library makes is removed, and only while its lock is ours: whatever else is there stays, and so
    /// does everything when someone else has come meanwhile.
    func remove() {
        let files = PosixFileSystem()
        let temporary = Cache.defaultTmpPath(in: path)
        guard let lock = try? files.lock(path + "/" + Cache.lockName), let names = try? files.list(path) else { return }
        defer { lock.release() }
        let hasTemporary = access(temporary, F_OK) == 0 || errno != ENOENT
        guard let partials = hasTemporary ? try? files.list(temporary) : [],
            partials.allSatisfy({ PartialName($0) != nil })
        else { return }
        // Of calls that were killed before their first records were there; or of one that has come and gone meanwhile.
        guard partials.isEmpty || hasNoDownload else { return }
        for name in partials { try? files.remove(temporary + "/" + name) }
        for name in Self.storeFiles(names) { try? files.remove(path + "/" + name) }
        rmdir(temporary)
        seal.remove()
        try? files.remove(path + "/" + Cache.lockName)
        // What is open keeps a name on some file systems (FUSE).
        lock.release()
        rmdir(path)
    }

    /// The same, if no download is on record there.
    func removeIfEmpty() {
        guard let names = try? PosixFileSystem().list(path) else { return }
        if !names.contains(where: StoreFileName.hasRecords) || hasNoDownload { remove() }
    }

    private var hasNoDownload: Bool {
        let store = FileStore(directory: URL(fileURLWithPath: path, isDirectory: true))
        defer { store.close() }
        guard let contents = try? store.load() else { return false }
        return contents.problems.isEmpty && contents.values.keys.allSatisfy { $0 == StoreIdentity.key }
    }

    /// Files of a store that has no records, but for damaged ones that were set aside. Who dies in between leaves no journal
    /// without its snapshot, for which records would be missed that there never were.
    static func storeFiles(_ names: [String]) -> [String] {
        names.filter { $0 == StoreFileName.lock || StoreFileName.hasRecords($0) }.sorted()
    }
}
