import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A process that is killed before anything is on record leaves partial files that no record tells of.
@Suite struct UnrecordedFileTests {
    private let disk = MemoryDisk()

    /// Managers that have their records in files of their own, and their unfinished files in one directory unless told
    /// otherwise.
    private func launch(
        _ identifier: String, _ seed: UInt64, store: (any Store)? = nil, unfinished: String = "/tmp"
    ) -> (manager: SessionManager, lanes: ManualLanes) {
        let lanes = ManualLanes()
        let transport = ScriptedTransport(traits: TransportTraits(delivery: .pausable), clock: ManualClock())
        transport.serve(.init([1, 2, 3]), at: place)
        transport.holdsAll = true
        let manager = SessionManager(
            identifier, configuration: SessionConfiguration(), transport: transport, store: store,
            logger: RecordingLog(),
            cache: Cache(identifier, downloadPath: "/" + identifier, downloadTmpPath: unfinished, on: disk),
            operationQueue: .global(),
            environment: Environment(
                clock: ManualClock(), fileSystem: disk, lanes: lanes, mainLane: lanes.makeLane("main"),
                operationLane: lanes.makeLane("operation"), seed: seed))
        return (manager, lanes)
    }

    /// Begins a download in each, and runs them until its partial file is there, and no record.
    private func begin(_ launch: (manager: SessionManager, lanes: ManualLanes)) throws -> String {
        let before = Set(parts)
        _ = try #require(launch.manager.download(address))
        #expect(launch.lanes.runNext("file.write"))
        return try #require(parts.first { !before.contains($0) })
    }

    private func kill(_ launches: (manager: SessionManager, lanes: ManualLanes)...) {
        for launch in launches { launch.lanes.abandon() }
        disk.endProcess()
        for launch in launches { launch.manager.abandon() }
    }

    private var parts: [String] { disk.paths.filter { $0.hasSuffix(".part") } }

    private var records: [String] { disk.paths.filter { $0.contains("/journal-") || $0.contains("/snapshot-") } }

    @Test func theyAreGoneAtTheNextLaunch() throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            let one = launch("one", seed)
            #expect(parts.isEmpty)
            _ = try begin(one)
            #expect(parts.count == 1 && records.isEmpty)
            kill(one)
        }
    }

    @Test func theyAreGoneWhenTheCacheIsCleared() throws {
        let one = launch("one", 1, unfinished: "/one/Tmp")
        let part = try begin(one)
        kill(one)
        // Nothing tells whose this is: another manager may have its unfinished files here.
        let foreign = "/one/Tmp/" + PartialName(token: 9, id: DownloadID(1), generation: 1).text
        try disk.open(foreign, .readWrite).close()
        #expect(Set(parts) == [part, foreign])
        try one.manager.cache.clear()
        #expect(parts == [foreign])
    }

    @Test func thoseOfAnotherManagerStay() throws {
        let (one, other) = (launch("one", 1), launch("other", 2))
        let (part, others) = (try begin(one), try begin(other))
        kill(one)
        // The other is a process of its own: what it has stays whoever comes and goes.
        let again = launch("one", 3)
        #expect(parts == [others] && part != others)
        kill(again)
        let third = launch("third", 4)
        #expect(parts == [others])
        kill(third)
        _ = launch("other", 5)
        #expect(parts.isEmpty)
    }

    /// They may be named by records that come back.
    @Test func onceSomethingIsOnRecordNothingIsTakenForTheirs() throws {
        let first = launch("one", 1)
        let part = try begin(first)
        first.manager.suspend(address)
        first.lanes.runAll()
        #expect(!records.isEmpty)
        kill(first)
        kill(launch("one", 2))
        #expect(parts == [part])
        for path in records { try disk.remove(path) }
        _ = launch("one", 3)
        #expect(parts == [part])
    }

    /// What is left of records that were spoiled may be what the disk is full of.
    @Test func thoseOfSpoiledRecordsGo() throws {
        let one = launch("one", 1)
        for url in [address, address + "?2"] {
            one.manager.download(url)
            one.lanes.runAll()
            one.manager.suspend(url)
            one.lanes.runAll()
        }
        #expect(parts.count == 2)
        kill(one)
        let journal = try #require(records.first { $0.contains("/journal-") })
        var bytes = try #require(disk.contents(of: journal))
        // All of the first one; the token of its partial file is the other's as well.
        for index in stride(from: bytes.count / 8, to: bytes.count / 2, by: 50) { bytes[index] ^= 1 }
        disk.put(bytes, at: journal)
        let again = launch("one", 2)
        #expect(!again.manager.restorationProblems.isEmpty && again.manager.tasks.count == 1)
        #expect(parts.count == 1)
    }

    /// The records of a manager with another store may be anywhere.
    @Test func theStoreThatIsGivenDecides() throws {
        let first = launch("one", 1, store: MemoryStore())
        let part = try begin(first)
        kill(first)
        let second = launch("one", 2)
        #expect(parts == [part])
        let other = try begin(second)
        kill(second)
        kill(launch("one", 3, store: MemoryStore()))
        _ = launch("one", 4)
        #expect(Set(parts) == [part, other])
    }
}
