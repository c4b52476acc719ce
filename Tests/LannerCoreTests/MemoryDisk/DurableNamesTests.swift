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
        case 0: state.put(File(), at: path)
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
            case 2 where Bool.random(using: &random): state.syncAllNames()
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
}
