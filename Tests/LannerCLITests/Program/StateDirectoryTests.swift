import Foundation
import Lanner
import ProgramSupport
import Testing

@testable import LannerCLI

@Suite struct StateDirectoryTests {
    let place: Workplace
    let state: StateDirectory

    init() throws {
        place = try Workplace()
        state = StateDirectory(in: place.url.path)
        try FileManager.default.createDirectory(
            at: place.url.appendingPathComponent(".lanner/Tmp"), withIntermediateDirectories: true)
        for name in ["lock", "journal-3", "snapshot-3", "manager.lock"] { try place.write([], to: ".lanner/" + name) }
    }

    @Test func goesWithWhatTheLibraryMade() {
        state.remove()
        #expect(place.names.isEmpty)
    }

    /// Whatever is left when it is killed in between, the next call misses nothing.
    @Test func nothingIsMissedOfWhatItHasRemoved() async throws {
        let names = ["snapshot-3", "lock", "notes", "snapshot-4.new", "journal-3"]
        let files = StateDirectory.storeFiles(names)
        #expect(Set(files) == Set(names).subtracting(["notes"]))
        for count in files.indices {
            let place = try Workplace()
            let store = FileStore(directory: place.url)
            _ = try store.load()
            await withCheckedContinuation { continuation in
                store.commit([.remove(key: "1")], durability: .process) { _ in continuation.resume() }
            }
            store.close()
            #expect(place.names.contains("snapshot-1") && place.names.contains("journal-1"))
            for name in StateDirectory.storeFiles(place.names).prefix(count) {
                try FileManager.default.removeItem(at: place.url.appendingPathComponent(name))
            }
            let next = FileStore(directory: place.url)
            #expect(try next.load().problems.isEmpty, "\(count) were removed")
            next.close()
        }
    }

    /// Left by a call that was killed before its first records were there.
    @Test func goesWithPartialFilesNobodyKnows() throws {
        for name in ["journal-3", "snapshot-3"] { try FileManager.default.removeItem(atPath: state.path + "/" + name) }
        try place.write([1], to: ".lanner/Tmp/88d220d4ea684842-1-1.part")
        state.remove()
        #expect(place.names.isEmpty)
    }

    /// Another call has come and gone since this one was through with everything.
    @Test func staysWithADownloadOfAnother() async throws {
        for name in ["journal-3", "snapshot-3"] { try FileManager.default.removeItem(atPath: state.path + "/" + name) }
        try place.write([1], to: ".lanner/Tmp/88d220d4ea684842-1-1.part")
        let store = FileStore(directory: URL(fileURLWithPath: state.path))
        _ = try store.load()
        await withCheckedContinuation { continuation in
            store.commit([.put(key: "1", value: Data([1]))], durability: .process) { _ in continuation.resume() }
        }
        store.close()
        state.remove()
        #expect(place.bytes(".lanner/Tmp/88d220d4ea684842-1-1.part") == [1])
    }

    @Test(arguments: ["notes", "corrupt-1.bin", "Tmp/1-1.part"]) func staysWithAnythingElse(_ name: String) throws {
        try place.write([1], to: ".lanner/" + name)
        state.remove()
        #expect(place.bytes(".lanner/" + name) == [1])
    }

    @Test func staysWhileItIsInUse() throws {
        let lock = try PosixFileSystem().lock(state.path + "/manager.lock")
        state.remove()
        #expect(place.bytes(".lanner/journal-3") == [])
        lock.release()
    }

    /// Whatever they find, and in whatever order: what one of them has made is their own.
    @Test func callsAtTheSameTimeTrustTheSame() throws {
        for round in 0..<50 {
            let directory = place.url.appendingPathComponent("\(round)").path
            let troubles = Locked<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 3) { _ in
                let state = StateDirectory(in: directory)
                guard let trouble = state.claim() ?? state.examine(adopts: false) else { return state.seal.put() }
                troubles.withLock { $0.append(trouble.code) }
            }
            #expect(troubles.withLock { $0.allSatisfy { $0 == "store.inUse" } })
            let state = StateDirectory(in: directory)
            #expect(FileManager.default.createFile(atPath: state.path + "/journal-1", contents: nil))
            #expect(state.examine(adopts: false) == nil)
        }
    }

    @Test func doesNothingWhenItIsNotThere() throws {
        state.remove()
        state.remove()
        #expect(place.names.isEmpty)
    }

    /// Calls come to their end, and remove it, while others begin in the same directory.
    @Test func whoFindsItRemovedMeanwhileMakesItAgain() throws {
        let path = place.url.appendingPathComponent("other").path
        let (group, troubles) = (DispatchGroup(), Locked<[String]>([]))
        for _ in 0..<3 {
            DispatchQueue.global().async(group: group) {
                for _ in 0..<3000 {
                    let trouble = StateDirectory(in: path).claim()
                    if let trouble { troubles.withLock { $0.append(trouble.reason) } }
                    rmdir(path + "/.lanner")
                }
            }
        }
        group.wait()
        #expect(troubles.withLock { $0 } == [])
    }
}
