import Foundation
import LannerCore
import LannerTesting
import Testing

/// The contract over every store there is.
@Suite(.timeLimit(.minutes(10)))
struct StoreContractTests {
    @Test func inMemory() async {
        let violations = await StoreContract.check(waiving: Self.ownPlace) { Self.memory() }
        #expect(violations == [])
    }

    @Test func withoutFaults() async {
        let violations = await StoreContract.check(waiving: Self.ownPlace) {
            let open = Self.memory()
            return { FaultyStore(open()) }
        }
        #expect(violations == [])
    }

    @Test func inFiles() async {
        let violations = await StoreContract.check {
            let directory = try TemporaryDirectory()
            return { FileStore(directory: directory.url.appendingPathComponent("deep/store", isDirectory: true)) }
        }
        #expect(violations == [])
    }

    @Test func inFilesThatAreAlwaysCompacted() async {
        let violations = await StoreContract.check {
            let directory = try TemporaryDirectory()
            return {
                FileStore(
                    directory: directory.url.path, disk: PosixFileSystem(), lanes: PooledLanes(),
                    smallestCompaction: 1)
            }
        }
        #expect(violations == [])
    }

    /// It calls back what is left before it gives its place back.
    @Test func thatTakesItsTimeToClose() async {
        let violations = await StoreContract.check {
            let place = SlowStore.Place()
            return { SlowStore(place) }
        }
        #expect(violations == [])
    }

    private static let ownPlace: [StoreContract.Clause: String] = [.taken: "Each store has memory of its own."]

    /// A place in memory: each store begins with what the last one held.
    private static func memory() -> @Sendable () -> any Store {
        let last = Locked(MemoryStore())
        return {
            last.withLock { store in
                store = MemoryStore(store.contents)
                return store
            }
        }
    }
}

/// A directory of its own, removed with the value.
private final class TemporaryDirectory: Sendable {
    let url: URL

    init() throws {
        let name = "lanner-contract-\(UUID().uuidString)"
        url = FileManager.default.temporaryDirectory.appendingPathComponent(name, isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}
