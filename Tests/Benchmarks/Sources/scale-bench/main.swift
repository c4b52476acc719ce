// How the cost of a download grows with their number: everything real but the network and the disk, on one thread; where
// records are read, or the first byte is waited for, the disk and the threads, too.
// Prints seconds, of the clock and of the processor, and exits with 1 when a figure is out of its bound.
//
//     swift run -c release scale-bench          up to 100,000 downloads; two minutes
//     swift run -c release scale-bench batches  one part only: batches, verbs, growth, first, restoring

import Figures
import Foundation
import LannerCore
import LannerTesting

/// Time by the clock, and what the processor spent of it: the second says more on a machine that has other things to do.
struct Cost {
    var seconds: Double
    var processor: Double

    /// What `body` costs.
    init(_ body: () -> Void) {
        let start = ContinuousClock.now
        let before = clock()
        body()
        processor = Double(clock() - before) / Double(CLOCKS_PER_SEC)
        seconds = (.now - start).milliseconds / 1000
    }
}

extension [Cost] {
    /// The one in the middle: a single one may have been disturbed.
    var median: Cost { sorted { $0.seconds < $1.seconds }[count / 2] }
}

/// What the process holds in memory, in bytes; nil where that cannot be read, as outside Linux.
func residentBytes() -> Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
}

func check(_ name: String, _ cost: Cost, atMost bound: Double) {
    check(name, cost.seconds, atMost: bound, note: String(format: ", %.3f s of the processor", cost.processor))
}

func urls(_ count: Int) -> [String] {
    (0..<count).map { "http://example.com/files/\($0).bin" }
}

func quietBench(store: (any Store)? = nil) -> TestBench {
    let bench = TestBench(store: { store ?? $0 })
    bench.log.option = .none
    return bench
}

/// What one download of a small file costs, of so many, in microseconds.
func oneDownload(of count: Int) -> (clock: Double, processor: Double) {
    let bench = quietBench()
    bench.transport.serveElsewhere(.init(.generated(seed: 1, length: 1000)))
    let all = urls(count)
    let cost = Cost {
        bench.manager.multiDownload(all)
        bench.settle()
    }
    precondition(bench.manager.status == .succeeded && bench.transport.underway == 0)
    return (cost.seconds / Double(count) * 1e6, cost.processor / Double(count) * 1e6)
}

func growth() {
    // How many at once, and how often in a round: about as many of each, for little is soon disturbed.
    let cases = [(count: 1000, times: 20), (count: 10_000, times: 5), (count: 100_000, times: 1)]
    _ = oneDownload(of: 10_000)
    // In turn, and the median of five rounds: the machine may have other things to do.
    let rounds = (0..<5).map { _ in
        cases.map { (count, times) in
            let all = (0..<times).map { _ in oneDownload(of: count) }
            return (clock: all.map(\.clock).mean, processor: all.map(\.processor).mean)
        }
    }
    let costs = cases.indices.map { index in rounds.map { $0[index] }.sorted { $0.clock < $1.clock }[2] }
    for ((count, _), cost) in zip(cases, costs) {
        let text = String(format: "%.1f µs, %.1f µs of the processor", cost.clock, cost.processor)
        print("     a download of \(count): \(text)")
    }
    for index in [0, 1] {
        let growth = costs[2].clock / costs[index].clock
        check("growth from \(cases[index].count) to 100000", growth, atMost: 1.3, unit: "×")
    }
}

extension [Double] {
    var mean: Double { reduce(0, +) / Double(count) }
}

/// When something of the first comes, of one download and of many that one call adds.
///
/// Ten thousand are one record and one look at the queue, so that the first begins when so many have been looked at. It is
/// held to not waiting for anything beyond that: its byte is there no later than a few milliseconds after the call has
/// returned, which takes no more than 20 µs for each; and of more it is there as soon.
func firstByte() {
    let counts = [1, 1000, 10_000, 100_000]
    // In turn, and the median.
    let rounds = (0..<5).map { _ in counts.map { FirstByte(of: $0) } }
    for (index, count) in counts.enumerated() {
        let all = rounds.map { $0[index] }
        let call = all.map(\.call).percentile()
        let (request, byte) = (all.map(\.request).percentile(), all.map(\.byte).percentile())
        print(String(format: "     of %d: request %.2f ms, byte %.2f ms, call %.2f ms", count, request, byte, call))
        let late = all.map { $0.byte - $0.call }.percentile()
        check("first byte of \(count), after the call has returned", late, atMost: 5, unit: "ms")
        if count >= 1000 { check("adding \(count)", call / Double(count) * 1000, atMost: 20, unit: "µs each") }
    }
    let growth = rounds.map { $0[3].byte / $0[2].byte }.percentile()
    check("first byte of 100000 / of 10000", growth, atMost: 1.3, unit: "×")
}

func batches(_ count: Int) {
    let bench = quietBench()
    let manager = bench.manager
    bench.transport.serveElsewhere(.init(.generated(seed: 1, length: 1000)))
    manager.configuration.maxConcurrentTasksLimit = 1
    let all = urls(count)
    bench.transport.always(all[0], .hold)
    func step(_ name: String, atMost bound: Double, _ body: () -> Void) {
        let cost = Cost {
            body()
            bench.settle()
        }
        check(name, cost, atMost: bound)
    }
    let before = residentBytes()
    // 50,000 a second.
    step("add \(count)", atMost: Double(count) / 50_000) { manager.multiDownload(all) }
    if let before, let after = residentBytes() {
        check("memory of a queued task", Double(after - before) / Double(count), atMost: 3072, unit: "bytes")
    } else {
        print("     memory of a queued task: cannot be read here")
    }
    precondition(manager.status == .running)
    step("suspend all", atMost: 1) { manager.totalSuspend() }
    precondition(manager.status == .suspended)
    step("resume all", atMost: 1) { manager.totalStart() }
    precondition(manager.status == .running)
    step("cancel all", atMost: 1) { manager.totalCancel() }
    precondition(manager.status == .canceled && manager.tasks.isEmpty)
}

/// What is done with many at once, as a user waits for it: none of them runs, and each step is one commit.
func verbs(_ count: Int) {
    let rounds = (0..<3).map { _ in
        let bench = quietBench()
        let manager = bench.manager
        bench.network.path = NetworkPath(isAvailable: false)
        let all = urls(count)
        func cost(_ body: () -> Void) -> Cost {
            Cost {
                body()
                bench.settle()
            }
        }
        let costs = [
            cost { manager.multiDownload(all) }, cost { manager.totalSuspend() }, cost { manager.totalStart() },
            cost { manager.tasksSort { $0.key > $1.key } }, cost { manager.totalRemove() },
        ]
        precondition(manager.tasks.isEmpty)
        return costs
    }
    let names = [("multiDownload", 0.3), ("totalSuspend", 0.3), ("totalStart", 0.3), ("tasksSort", 0.1)]
    for (index, (name, bound)) in (names + [("totalRemove", 0.3)]).enumerated() {
        check("\(name) of \(count)", rounds.map { $0[index] }.median, atMost: bound)
    }
}

func restoring(_ count: Int) throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("scale-bench-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    func makeManager() -> SessionManager {
        let manager = SessionManager(
            "bench", transport: ScriptedTransport(), store: FileStore(directory: directory),
            cache: Cache("bench", downloadPath: directory.path))
        manager.logger.option = .none
        return manager
    }
    let first = makeManager()
    first.configuration.maxConcurrentTasksLimit = 1
    first.multiDownload(urls(count))
    first.invalidate()
    let loads = (0..<5).map { _ in
        let store = FileStore(directory: directory)
        defer { store.close() }
        var kept = 0
        let cost = Cost { kept = (try? store.load())?.values.count ?? 0 }
        // There is one more, which names the store.
        precondition(kept >= count)
        return cost
    }
    check("load \(count) records from a FileStore", loads.median, atMost: 1.5)
    let launches = (0..<3).map { _ in
        var manager: SessionManager?
        let cost = Cost { manager = makeManager() }
        precondition(manager?.tasks.count == count)
        manager?.invalidate()
        return cost
    }
    check("make a manager that restores them", launches.median, atMost: 1.5)
}

let parts = Set(CommandLine.arguments.dropFirst())
func isWanted(_ part: String) -> Bool { parts.isEmpty || parts.contains(part) }

// First, while the process holds no memory that it could use again: it counts what a task adds.
if isWanted("batches") { batches(100_000) }
if isWanted("verbs") { verbs(10_000) }
if isWanted("growth") { growth() }
if isWanted("first") { firstByte() }
if isWanted("restoring") { try restoring(100_000) }
exit(failed ? 1 : 0)
