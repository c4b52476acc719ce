import Foundation
import LannerCore
import LannerMachine
import LannerTesting
import Testing

@Suite struct PosixFileSystemTests {
    let disk = PosixFileSystem()
    let place: TemporaryDirectory

    @Test func twoNamesOfAFileAreCounted() throws {
        for name in ["a", "b"] { try disk.open(place(name), .create).close() }
        #expect(link(place("a"), place("c")) == 0)
        for other in ["b", "c", "none"] {
            #expect(!disk.isLastCounted(place("a"), beside: place(other)))
            #expect(!disk.isLastCounted(place(other), beside: place("a")))
        }
        // What counts one, though both lead there.
        #expect(disk.isLastCounted(place("b"), beside: place(".") + "/b"))
    }

    init() throws {
        place = try TemporaryDirectory()
    }

    private func make(_ name: String, _ text: String = "") throws {
        let file = try disk.open(place(name), .create)
        try write(text, to: file)
        file.close()
    }

    private func write(_ text: String, to file: any OpenFile, at offset: Int64 = 0) throws {
        try Array(text.utf8).withUnsafeBytes { bytes in try file.write(bytes, at: offset) }
    }

    private func read(_ file: any OpenFile, at offset: Int64 = 0) throws -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = try bytes.withUnsafeMutableBytes { buffer in
            try file.read(into: buffer, at: offset)
        }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    private func fault(_ body: () throws -> Void) -> DiskFault? { fileError(body)?.fault }

    @Test func readsBackWhatWasWritten() throws {
        let file = try disk.open(place("a"), .create)
        try write("hello", to: file)
        try write("world", to: file, at: 6)
        #expect(try read(file) == "hello\0world")
        #expect(try read(file, at: 6) == "world")
        #expect(try read(file, at: 11) == "")
        #expect(try file.size() == 11)
        try file.truncate(to: 4)
        try file.sync()
        #expect(try read(file) == "hell")
    }

    /// Whether they are synced together depends on the system; that they can go on is the same.
    @Test func syncsWhatIsSmallAloneOrTogether() async throws {
        let files = try (0..<8).map { number in try disk.open(place("\(number)"), .create) }
        for file in files { try write("hello", to: file) }
        await withTaskGroup(of: Void.self) { group in
            for file in files {
                group.addTask { #expect(throws: Never.self) { try file.syncShared() } }
            }
        }
        for file in files { try write("world", to: file, at: 5) }
        if let outcomes = disk.syncAll(files) {
            #expect(outcomes.count == files.count)
            for outcome in outcomes { try outcome.get() }
        }
        for file in files {
            try file.checkWhole()
            #expect(try read(file) == "helloworld")
        }
        #expect(disk.syncAll([files[0]]) == nil)
    }

    private func isPlain(_ path: String) throws -> Bool {
        #if os(Linux)
        // Swift does not reach `statfs`.
        let output = try #require(popen("stat -f -c %t '\(path)'", "r"))
        var line = [CChar](repeating: 0, count: 64)
        let isRead = fgets(&line, Int32(line.count), output) != nil
        try #require(pclose(output) == 0 && isRead)
        let type = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return ["ef53", "58465342"].contains(type.trimmingCharacters(in: .whitespacesAndNewlines))
        #else
        return false
        #endif
    }

    @Test func aClosedFileIsNotSynced() throws {
        let (file, open) = (try disk.open(place("a"), .create), try disk.open(place("b"), .create))
        file.close()
        #expect(fault { try file.syncShared() } == .other)
        #expect(fault { try file.checkWhole() } == .other)
        #expect(disk.syncAll([open, file]) == nil)
    }

    /// A file of which a part was never written has a hole, as one has that lost it. Of ext4 and XFS it is known that
    /// they make none by themselves; of others nothing is told.
    @Test func aFileWithAHoleIsNotWhole() throws {
        let file = try disk.open(place("a"), .create)
        try file.checkWhole()
        try write("begin", to: file)
        try file.checkWhole()
        try write("end", to: file, at: 1 << 20)
        try file.sync()
        #expect(fault { try file.checkWhole() } == (try isPlain(place("a")) ? .inputOutput : nil))
    }

    @Test func holesAreWhereNothingWasWritten() throws {
        let (file, block) = (try disk.open(place("a"), .create), Int64(1 << 16))
        for number in [0, 2, 3, 6] as [Int64] {
            try write(String(repeating: "x", count: 1 << 16), to: file, at: number * block)
        }
        #expect(file.holes(in: [0..<block, 2 * block..<4 * block, 6 * block..<7 * block]) == [])
        let isPlain = try isPlain(place("a"))
        #expect(file.holes(in: [10..<3 * block]) == (isPlain ? [block..<2 * block] : []))
        #expect(file.holes(in: [0..<9 * block]) == (isPlain ? [block..<2 * block, 4 * block..<6 * block] : []))
    }

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// Everybody may put something there, and nobody look. In a process of its own, which is nobody: root may look all
    /// the same.
    @Test func aDirectoryThatMayNotBeReadIsSyncedWithAllElse() async {
        await #expect(processExitsWith: .success) {
            let (disk, place) = (PosixFileSystem(), try TemporaryDirectory())
            defer { withExtendedLifetime(place) {} }
            try disk.makeDirectory(place("drop"))
            try #require(chmod(place.path, 0o755) == 0 && chmod(place("drop"), 0o333) == 0)
            defer { chmod(place("drop"), 0o777) }
            let isRoot = geteuid() == 0
            if isRoot { try #require(seteuid(65534) == 0) }
            defer { if isRoot { seteuid(0) } }
            try #require(open(place("drop"), O_RDONLY) == -1 && errno == EACCES)
            try disk.syncDirectory(place("drop"))
            try disk.makeDirectory(place("drop/inner"))
            let error = #expect(throws: FileError.self) { try disk.syncDirectory(place("nowhere")) }
            try #require(error?.fault == .notFound)
        }
    }
    #endif

    /// What is missing may have been lost by the file system, or left out by whoever copied the file.
    @Test func whatAPartialFileHasNoBytesForIsNotHeld() throws {
        let (path, block) = (place("part"), Int64(1 << 16))
        let old = try disk.open(path, .create)
        try write("begin", to: old)
        try write(String(repeating: "x", count: 1 << 16), to: old, at: 2 * block)
        try old.sync()
        let (lanes, events) = (ManualLanes(), Locked<[PartialFileEvent]>([]))
        let file = PartialFile(
            path: path, fileSystem: disk, lanes: PartialFile.Lanes(lanes), hasher: nil, claimed: [0..<3 * block],
            durable: [0..<3 * block]
        ) { event in events.withLock { $0.append(event) } }
        file.open(total: 4 * block)
        file.close(sync: true)
        lanes.runAll()
        let held: ByteRanges = try isPlain(path) ? [0..<Int64(getpagesize()), 2 * block..<3 * block] : [0..<3 * block]
        #expect(events.withLock { $0 } == [.opened(held: held), .closed(written: held, synced: held)])
    }

    @Test(arguments: [0, 1, 16_383, 16_384, 20_000] as [Int64])
    func writesManyBuffersOneBehindTheOther(offset: Int64) throws {
        // More than one call takes, of sizes that fit no block, and an empty one.
        let expected = (0..<60_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let file = try disk.open(place("file"), .create)
        try expected.withUnsafeBytes { bytes in
            let sizes = [0] + Array(repeating: 700, count: 60) + [18_000]
            var rest = UnsafeRawBufferPointer(bytes)[...]
            let buffers = sizes.map { size in
                defer { rest = rest.dropFirst(size) }
                return UnsafeRawBufferPointer(rebasing: rest.prefix(size))
            }
            try file.write(buffers, at: offset)
        }
        let read = try Data(contentsOf: URL(fileURLWithPath: place("file")))
        #expect(Array(read) == Array(repeating: 0, count: Int(offset)) + expected)
    }

    /// Whole blocks, in the file and in memory, go around the cache where there is such a thing; what lies beside them does
    /// not. Who reads sees all of it.
    @Test(arguments: [0, 100, 4096, 12_000] as [Int64])
    func directWritesMixWithOthers(offset: Int64) throws {
        let size = 200_000
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size + 8192, alignment: 4096)
        defer { memory.deallocate() }
        for index in memory.indices { memory[index] = UInt8(truncatingIfNeeded: index &* 7 ^ index >> 8) }
        let file = try disk.open(place("file"), .create)
        try file.allocate(offset + Int64(size))
        try write("before", to: file, at: offset)
        // Where the bytes lie in memory: as in the file, in two parts that meet, and elsewhere.
        for start in [Int(offset % 4096), Int(offset % 4096) + 1] {
            let bytes = UnsafeRawBufferPointer(rebasing: memory[start..<(start + size)])
            for cut in [0, 1, 4096, 70_000, size] {
                let parts = [bytes[..<cut], bytes[cut...]].map { UnsafeRawBufferPointer(rebasing: $0) }
                try file.writeDirectly(parts, at: offset)
                try file.write([UInt8](bytes[4000..<5000]), at: offset + 4000)
                let read = try Data(contentsOf: URL(fileURLWithPath: place("file")))
                #expect(read.dropFirst(Int(offset)).elementsEqual(bytes), "cut at \(cut)")
                try file.write([UInt8](repeating: 0, count: size), at: offset)
            }
            let halves = [bytes[..<100_000], bytes[120_000...]].map { UnsafeRawBufferPointer(rebasing: $0) }
            try file.writeDirectly(halves, at: offset)
            let read = try Data(contentsOf: URL(fileURLWithPath: place("file")))
            #expect(read.dropFirst(Int(offset)).prefix(180_000).elementsEqual(halves.joined()))
        }
        try file.sync()
        #expect(try file.size() == offset + Int64(size))
        file.close()
        #expect(fault { try file.writeDirectly([UnsafeRawBufferPointer(memory)], at: 0) } == .other)
    }

    @Test func whoMayOnlyReadCannotWriteDirectlyEither() throws {
        try make("a", "kept")
        let file = try disk.open(place("a"), .read)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 4096)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 1)
        #expect(fault { try file.writeDirectly([UnsafeRawBufferPointer(memory)], at: 0) } == .other)
        #expect(try read(file) == "kept")
    }

    /// A hint: of ranges that are not there, and of a file that is closed, as well.
    @Test func beginningASyncChangesNothing() throws {
        let file = try disk.open(place("a"), .create)
        try write("hello", to: file)
        for range in [0..<5, 0..<0, 1 << 40..<(1 << 40 + 1), -1..<0] as [Range<Int64>] { try file.beginSync(of: range) }
        try file.sync()
        #expect(try read(file) == "hello")
        #expect(try file.size() == 5)
        file.close()
        try file.beginSync(of: 0..<5)
    }

    @Test func modesKeepMakeAndEmpty() throws {
        #expect(fault { _ = try disk.open(place("a"), .read) } == .notFound)
        try make("a", "kept")
        #expect(try read(disk.open(place("a"), .readWrite)) == "kept")
        #expect(try read(disk.open(place("a"), .read)) == "kept")
        #expect(fault { try write("x", to: disk.open(place("a"), .read)) } == .other)
        #expect(try disk.open(place("a"), .create).size() == 0)
        try make("a", "not kept")
        #expect(try disk.open(place("a"), .createPrivate).size() == 0)
        #expect(try disk.open(place("new"), .readWrite).size() == 0)
    }

    @Test func opensRegularFilesOnly() throws {
        try make("a")
        try FileManager.default.createSymbolicLink(atPath: place("link"), withDestinationPath: place("a"))
        #expect(mkfifo(place("pipe"), 0o600) == 0)
        for mode in [FileMode.read, .readWrite, .create, .createPrivate] {
            #expect(fault { _ = try disk.open(place("link"), mode) } == .inTheWay)
            #expect(fault { _ = try disk.open(place("pipe"), mode) } == .inTheWay)
            #expect(fault { _ = try disk.open(place.path, mode) } == .inTheWay)
        }
        #expect(fault { _ = try disk.size(of: place("link")) } == .inTheWay)
    }

    @Test func allocatingChangesNothingThatIsRead() throws {
        let file = try disk.open(place("a"), .create)
        try write("abc", to: file)
        try file.allocate(0)
        try file.allocate(1 << 20)
        #expect(try file.size() == 3)
        #expect(try read(file) == "abc")
        #expect(fault { try file.allocate(-1) } == .other)
        #if canImport(Darwin)
        // There may be room that has to be made first: whether there is none shows when something is written.
        let faults: [DiskFault?] = [nil, .noSpace, .tooLarge]
        #else
        let faults: [DiskFault?] = [.noSpace, .tooLarge]
        #endif
        #expect(faults.contains(fault { try file.allocate(1 << 60) }))
    }

    @Test func outOfRangePositionsFail() throws {
        let file = try disk.open(place("a"), .create)
        #expect(fault { try write("x", to: file, at: -1) } == .other)
        #expect(fault { try write("xy", to: file, at: .max) } != nil)
        #expect(fault { try file.truncate(to: -1) } == .other)
    }

    @Test func documentsAreForAllThatTheUserLets() throws {
        try make("a")
        #expect(mkfifo(place("pipe"), 0o666) == 0)
        #expect(try place.permissions("a") == place.permissions("pipe"), "what the umask leaves")
    }

    @Test func privateFilesAndLocksAreForTheOwnerAlone() throws {
        _ = try disk.open(place("a"), .createPrivate)
        try disk.lock(place("lock")).release()
        #expect(try place.permissions("a") == 0o600)
        #expect(try place.permissions("lock") == 0o600)
    }

    @Test func closedFilesFail() throws {
        let file = try disk.open(place("a"), .create)
        file.close()
        file.close()
        #expect(fault { try write("x", to: file) } == .other)
        #expect(fault { try file.sync() } == .other)
        #expect(fault { _ = try file.size() } == .other)
    }

    /// Of a file with another name nothing is lost; and that another has its path says little.
    @Test func fileIsRemovedWhenItHasNoName() throws {
        let (path, other) = (place("a"), place("b"))
        let file = try disk.open(path, .create)
        #expect(!file.isRemoved)
        try disk.rename(path, to: other)
        try make("a")
        #expect(!file.isRemoved && !file.isInPlace)
        try disk.remove(other)
        #expect(file.isRemoved)
        try disk.remove(path)
        #expect(file.isRemoved)
    }

    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// In a process of its own, which may open nothing any more. Who finds the directory the next time does not sync it.
    @Test func aDirectoryWhoseNameCannotBeKeptIsNotLeftThere() async {
        await #expect(processExitsWith: .success) {
            let (disk, place) = (PosixFileSystem(), try TemporaryDirectory())
            #if canImport(Glibc)
            let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            #else
            let files = RLIMIT_NOFILE
            #endif
            var limit = rlimit()
            try #require(getrlimit(files, &limit) == 0)
            let before = limit.rlim_cur
            limit.rlim_cur = 3
            try #require(setrlimit(files, &limit) == 0)
            let error = #expect(throws: FileError.self) { try disk.makeDirectory(place("x")) }
            limit.rlim_cur = before
            try #require(setrlimit(files, &limit) == 0)
            try #require(error?.fault == .tooManyFiles)
            try #require(disk.list(place.path) == [])
            try disk.makeDirectory(place("x"))
            try #require(disk.list(place.path) == ["x"])
        }
    }
    #endif

    @Test func makesListsRenamesRemoves() throws {
        try disk.makeDirectory(place("x/y/z/"))
        try disk.makeDirectory(place("x/y/z"))
        try make("x/one", "1")
        try make("x/two", "2")
        #expect(try disk.list(place("x")).sorted() == ["one", "two", "y"])
        try disk.rename(place("x/one"), to: place("x/two"))
        try disk.syncDirectory(place("x"))
        #expect(try disk.list(place("x")).sorted() == ["two", "y"])
        #expect(try disk.size(of: place("x/two")) == 1)
        try disk.remove(place("x/two"))
        try disk.remove(place("x/two"))
        #expect(try disk.size(of: place("x/two")) == nil)
    }

    /// Its space is given back though it is open; by another name it is another's file.
    @Test func whatIsRemovedAltogetherIsEmptiedUnlessItHasAnotherName() throws {
        try make("one", "bytes")
        let file = try disk.open(place("one"), .read)
        try disk.removeAll(of: place("one"))
        #expect(try file.size() == 0 && disk.size(of: place("one")) == nil)
        try make("two", "bytes")
        try FileManager.default.linkItem(atPath: place("two"), toPath: place("copy"))
        try disk.removeAll(of: place("two"))
        #expect(try disk.size(of: place("two")) == nil && disk.size(of: place("copy")) == 5)
        try disk.removeAll(of: place("none"))
    }

    /// Not one with the same times, either, as a backup brings it back.
    @Test func aFingerprintIsThatOfOneFile() throws {
        #expect(try disk.fingerprint(of: place("one")) == nil)
        try make("one", "bytes")
        let first = try #require(try disk.fingerprint(of: place("one")))
        #expect(first.size == 5 && first.changed > 1_700_000_000_000_000_000)
        #expect(try disk.fingerprint(of: place("one")) == first)
        try make("other", "seytb")
        #expect(try disk.fingerprint(of: place("other")) != first)
        // The clock of files goes in steps.
        var tries = 0
        while try disk.fingerprint(of: place("one")) == first, tries < 1_000_000 {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: place("one"))
            tries += 1
        }
        #expect(try disk.fingerprint(of: place("one")) != first)
    }

    /// The target is the name that users know.
    @Test func aFailedRenameNamesBothEnds() throws {
        try make("one")
        try disk.makeDirectory(place("two"))
        let error = #expect(throws: FileError.self) { try disk.rename(place("one"), to: place("two")) }
        #expect(error?.fault == .inTheWay)
        #expect(error?.description.hasPrefix("rename \(place("one")) to \(place("two")): ") == true)
    }

    @Test func somethingInTheWayOfADirectory() throws {
        try make("a")
        #expect(fault { try disk.makeDirectory(place("a")) } == .inTheWay)
        #expect(fault { try disk.makeDirectory(place("a/b")) } == .inTheWay)
        #expect(fault { _ = try disk.list(place("none")) } == .notFound)
        #expect(fault { try disk.syncDirectory(place("none")) } == .notFound)
    }

    #if os(Linux)
    /// What a child process that was just forked has: a copy of the descriptor.
    @Test func aReleasedLockIsFreeThoughACopyOfItsDescriptorIsOpen() throws {
        let lock = try disk.lock(place("lock"))
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let ours = descriptors.first { name in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)) == place("lock")
        }
        let copy = dup(try #require(ours.flatMap { Int32($0) }))
        defer { close(copy) }
        lock.release()
        try disk.lock(place("lock")).release()
    }
    #endif

    @Test(arguments: ["", "/"]) func noLinkIsLookedForAboveTheRoot(base: String) {
        #expect(!disk.hasLink(in: "/", below: base))
        #expect(disk.hasLink(in: "relative/none", below: base) == false)
    }

    @Test func lockHoldsOffASecondOneUntilReleased() throws {
        let first = try disk.lock(place("lock"))
        #expect(fault { _ = try disk.lock(place("lock")) } == .locked)
        first.release()
        first.release()
        let second = try disk.lock(place("lock"))
        #expect(fault { _ = try disk.lock(place("lock")) } == .locked)
        second.release()
    }

    /// As the last one to use a directory does.
    @Test func aLockFileMayBeRemovedByItsOwner() {
        let owners = Locked(0)
        let taken = Locked(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<2000 {
                guard let lock = try? disk.lock(place("lock")) else { continue }
                #expect(
                    owners.withLock {
                        $0 += 1; return $0
                    } == 1)
                taken.withLock { $0 += 1 }
                owners.withLock { $0 -= 1 }
                try? disk.remove(place("lock"))
                lock.release()
            }
        }
        #expect(taken.withLock { $0 } > 0)
    }

    @Test func knowsTheMachine() throws {
        #expect(disk.hasRoom(for: 1, in: place.path) && !disk.hasRoom(for: .max, in: place.path))
        #expect(disk.hasRoom(for: .max, in: place("none")), "it cannot be told")
        let boot = try #require(disk.bootIdentifier())
        #expect(boot.count == 36)
        #expect(boot == disk.bootIdentifier())
    }

    @Test func errorsAreOneSentence() throws {
        #expect(
            FileError(operation: "write", path: "/a", code: ENOSPC).description
                == "write to /a: No space left on device")
        #expect(
            FileError(fault: .inTheWay, operation: "open", path: "/a").description
                == "open /a: something else is in the place")
        #expect(FileError(operation: "read", path: "/a", code: EIO).fault == .inputOutput)
        #expect(FileError(operation: "rename", path: "/a", code: EBUSY).fault == .inTheWay)
    }
}
