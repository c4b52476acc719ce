import LannerCore
import LannerMachine
import Testing

@testable import LannerTesting

/// What names a disk in memory has for its device, beside a table of all of them, which is right by what it is.
@Suite struct DurableNamesTests {
    private typealias File = MemoryDiskState.File
    private typealias Names = [String: File]

    private let paths = ["/a/1", "/a/2", "/a/3", "/b/1", "/b/2"]

    private func apply(_ edit: MemoryDisk.NameEdit, to names: inout Names) {
        switch edit {
        case .set(let path, let file): names[path] = file
        case .remove(let path): names[path] = nil
        case .rename(let path, let target, let file):
            names[target] = file
            if names[path] === file { names[path] = nil }
        }
    }

    private func change(_ state: inout MemoryDiskState, _ random: inout SeededGenerator) throws {
        let path = try #require(paths.randomElement(using: &random))
        let target = try #require(paths.randomElement(using: &random))
        switch Int.random(in: 0..<3, using: &random) {
        case 0: state.put(File(number: 0), at: path)
        case 1: state.take(path)
        default: if path != target, let file = state.file(at: path) { state.move(file, from: path, to: target) }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func areThoseThatWereSynced(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var state = MemoryDiskState(capacity: nil)
        var (durable, synced): (Names, Int) = ([:], 0)
        for directory in ["/a", "/b"] { _ = state.makeDirectory(directory) }
        for _ in 0..<200 {
            let before = state.unsyncedNames
            switch Int.random(in: 0..<12, using: &random) {
            case 0: state.syncNames(in: "/a")
            case 1: state.syncNames(in: "/b")
            case 2 where Bool.random(using: &random): state.syncAllNames(of: "/")
            default: try change(&state, &random)
            }
            let count = max(0, before.count - state.unsyncedNames.count)
            for edit in before.prefix(count) { apply(edit, to: &durable) }
            synced += count
            for path in paths { #expect(state.durableFile(at: path) === durable[path]) }
        }
        #expect(synced > 50)

        // The machine dies: the same throws of the dice.
        var (names, dice) = (durable, random)
        let edits = state.unsyncedNames
        if Bool.random(using: &dice) {
            for edit in edits.prefix(Int.random(in: 0...edits.count, using: &dice)) { apply(edit, to: &names) }
        } else {
            for edit in edits where Bool.random(using: &dice) { apply(edit, to: &names) }
        }
        state.loseUnsynced(&random)
        #expect(state.files.paths.sorted() == names.keys.sorted())
        for path in paths { #expect(state.durableFile(at: path) === state.files[path]) }
    }

    /// Where directories, or devices, have names of their own: one that is synced is as it is now, and no other name is
    /// but as it was at some time. A file may have two that way, one in each.
    @Test(arguments: 0..<40 as Range<UInt64>, [[], ["/b"]]) func comeAloneWithoutOrder(
        seed: UInt64, mounts: [String]
    ) throws {
        var random = SeededGenerator(seed: seed)
        var state = MemoryDiskState(capacity: nil)
        (state.ordersNames, state.mounts) = (!mounts.isEmpty, Set(mounts))
        for directory in ["/a", "/b"] { _ = state.makeDirectory(directory) }
        var history: [String: [File?]] = Dictionary(uniqueKeysWithValues: paths.map { ($0, [nil]) })
        var (alone, twice) = (0, 0)
        for _ in 0..<200 {
            let synced = [0: "/a", 1: "/b"][Int.random(in: 0..<12, using: &random)]
            let before = paths.filter { $0.directory != synced && state.durableFile(at: $0) !== state.files[$0] }
            if let synced { state.syncNames(in: synced) } else { try change(&state, &random) }
            for path in paths {
                history[path]?.append(state.files[path])
                let durable = state.durableFile(at: path)
                if path.directory == synced { #expect(durable === state.files[path]) }
                #expect(history[path]?.contains { $0 === durable } == true)
            }
            if synced != nil, before.contains(where: { state.durableFile(at: $0) !== state.files[$0] }) { alone += 1 }
            let named = Dictionary(grouping: paths.filter { state.durableFile(at: $0) != nil }) { path in
                state.durableFile(at: path).map(ObjectIdentifier.init)
            }
            for names in named.values { #expect(Set(names.map(\.directory)).count == names.count) }
            if named.values.contains(where: { $0.count > 1 }) { twice += 1 }
        }
        #expect(alone > 3, "names of the other directory stay behind")
        #expect(twice == 0 || !state.ordersNames)
    }

    /// After the machine's death, where only the directory that it went to was synced: it counts one, and is lost with
    /// either.
    @Test func aMovedFileMayHaveTwoNames() throws {
        var found = 0
        for seed in 0..<20 as Range<UInt64> {
            let disk = MemoryDisk()
            disk.ordersNames = false
            for directory in ["/a", "/b"] { try disk.makeDirectory(directory) }
            disk.put([1, 2, 3], at: "/a/1")
            for directory in ["/a", "/b"] { try disk.syncDirectory(directory) }
            try disk.open("/a/1", .read).sync()
            try disk.rename("/a/1", to: "/b/1")
            try disk.syncDirectory("/b")
            #expect(!disk.isLastCounted("/a/1", beside: "/b/1"))
            var random = SeededGenerator(seed: seed)
            disk.loseUnsynced(&random)
            #expect(disk.contents(of: "/b/1") == [1, 2, 3])
            guard disk.paths.contains("/a/1") else { continue }
            found += 1
            #expect(disk.isLastCounted("/a/1", beside: "/b/1"))
            try disk.rename("/a/1", to: "/b/1")
            #expect(disk.paths == ["/a/1", "/b/1"])
            try disk.remove("/a/1")
            #expect(disk.contents(of: "/b/1") != [1, 2, 3])
        }
        #expect(found > 0)
    }

    @Test func aSyncOfADeviceIsNoneOfAnother() throws {
        var state = MemoryDiskState(capacity: nil)
        state.mounts = ["/b"]
        for directory in ["/a", "/b"] { _ = state.makeDirectory(directory) }
        state.put(File(number: 0), at: "/a/1")
        state.put(File(number: 0), at: "/b/1")
        state.syncAllNames(of: state.device(of: "/b/1"))
        #expect(state.durableFile(at: "/a/1") == nil)
        #expect(state.durableFile(at: "/b/1") === state.files["/b/1"])
    }
}
