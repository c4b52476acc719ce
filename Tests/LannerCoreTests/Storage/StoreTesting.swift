import Foundation
import LannerCore
import LannerMachine
import LannerTesting

extension SeededGenerator {
    mutating func below(_ bound: Int) -> Int {
        Int.random(in: 0..<bound, using: &self)
    }
}

/// Commits and the outcomes that were reported for them, in order.
final class Reports: Sendable {
    typealias Report = (id: Int, reason: StoreError.Reason?)
    private let reports = Locked<[Report]>([])

    var all: [Report] { reports.withLock { $0 } }
    var ids: [Int] { all.map(\.id) }
    var reasons: [StoreError.Reason?] { all.map(\.reason) }

    func report(_ id: Int, _ result: Result<Void, StoreError>) {
        reports.withLock { $0.append((id, result.reason)) }
    }
}

extension Result where Success == Void, Failure == StoreError {
    var reason: StoreError.Reason? {
        switch self {
        case .success: nil
        case .failure(let error): error.reason
        }
    }
}

extension Store {
    /// Commits and waits for the outcome.
    func commit(_ changes: [StoreChange], _ durability: StoreDurability = .process) async -> StoreError.Reason? {
        await withCheckedContinuation { continuation in
            commit(changes, durability: durability) { continuation.resume(returning: $0.reason) }
        }
    }
}

/// A store over a ``CrashDisk`` whose lane runs when the test says so.
struct SteppedStore {
    let disk: CrashDisk
    let lanes = ManualLanes()
    let reports = Reports()
    let store: FileStore

    init(_ disk: CrashDisk = CrashDisk(), smallestCompaction: Int64 = 1 << 20, largestFrame: Int? = nil) {
        self.disk = disk
        store = FileStore(
            directory: "/store", disk: disk, lanes: lanes, smallestCompaction: smallestCompaction,
            largestFrame: largestFrame)
    }

    /// A store that is loaded, and what it had.
    static func opened(
        _ disk: CrashDisk = CrashDisk(), smallestCompaction: Int64 = 1 << 20, largestFrame: Int? = nil
    ) throws -> (SteppedStore, StoreContents) {
        let stepped = SteppedStore(disk, smallestCompaction: smallestCompaction, largestFrame: largestFrame)
        return (stepped, try stepped.store.load())
    }

    func commit(_ id: Int, _ changes: [StoreChange], _ durability: StoreDurability = .process) {
        store.commit(changes, durability: durability) { [reports] in reports.report(id, $0) }
    }

    /// Commits and waits; nil when it is done.
    func commitNow(_ changes: [StoreChange], _ durability: StoreDurability = .process) -> StoreError.Reason? {
        commit(0, changes, durability)
        lanes.runAll()
        return reports.all.last?.reason
    }
}

extension StoreChange {
    static func put(_ key: String, _ value: String) -> StoreChange {
        .put(key: key, value: Data(value.utf8))
    }

    static func remove(_ key: String) -> StoreChange {
        .remove(key: key)
    }
}

extension [String: Data] {
    mutating func make(_ changes: [StoreChange]) {
        for change in changes {
            switch change {
            case .put(let key, let value): self[key] = value
            case .remove(let key): self[key] = nil
            }
        }
    }

    var texts: [String: String] {
        mapValues { String(decoding: $0, as: UTF8.self) }
    }
}
