// How the cost of a download grows with their number: everything real but the network and the disk, on one thread.
// Prints seconds, and exits with 1 when a figure is out of its bound.
//
//     swift run -c release scale-bench          10,000 and 100,000 downloads; a minute

import Foundation
import LannerCore
import LannerTesting

nonisolated(unsafe) var failed = false

func seconds(_ body: () -> Void) -> Double {
    let start = ContinuousClock.now
    body()
    let (whole, atto) = start.duration(to: .now).components
    return Double(whole) + Double(atto) / 1e18
}

func check(_ name: String, _ figure: Double, atMost bound: Double, unit: String = "s") {
    let holds = figure <= bound
    failed = failed || !holds
    print("\(holds ? "ok  " : "FAIL") \(name): \(String(format: "%.3f", figure)) \(unit) (bound: \(bound))")
}

func urls(_ count: Int) -> [String] {
    (0..<count).map { "http://example.com/files/\($0).bin" }
}

func quietBench(store: (any Store)? = nil) -> TestBench {
    let bench = TestBench(store: store)
    bench.log.option = .none
    return bench
}

/// Microseconds of one download of a small file, of so many.
func microsecondsPerDownload(_ count: Int) -> Double {
    let bench = quietBench()
    bench.transport.serveElsewhere(.init(.generated(seed: 1, length: 1000)))
    let all = urls(count)
    let time = seconds {
        bench.manager.multiDownload(all)
        bench.settle()
    }
    precondition(bench.manager.status == .succeeded && bench.transport.underway == 0)
    return time / Double(count) * 1e6
}

func growth() {
    _ = microsecondsPerDownload(10_000)
    // In turn, and the median of three: the machine may have other things to do.
    let rounds = (0..<3).map { _ in (microsecondsPerDownload(10_000), microsecondsPerDownload(100_000)) }
    let small = rounds.map(\.0).sorted()[1]
    let large = rounds.map(\.1).sorted()[1]
    print(String(format: "     a download of 10,000: %.1f µs; of 100,000: %.1f µs", small, large))
    check("growth from 10,000 to 100,000", large / small, atMost: 1.3, unit: "×")
}

func batches(_ count: Int) {
    let bench = quietBench()
    bench.transport.serveElsewhere(.init(.generated(seed: 1, length: 1000)))
    bench.manager.configuration.maxConcurrentTasksLimit = 1
    let all = urls(count)
    bench.transport.always(all[0], .hold)
    check(
        "add \(count)",
        seconds {
            bench.manager.multiDownload(all); bench.settle()
        }, atMost: 5)
    precondition(bench.manager.status == .running)
    check(
        "suspend all",
        seconds {
            bench.manager.totalSuspend(); bench.settle()
        }, atMost: 1)
    precondition(bench.manager.status == .suspended)
    check(
        "resume all",
        seconds {
            bench.manager.totalStart(); bench.settle()
        }, atMost: 1)
    precondition(bench.manager.status == .running)
    check(
        "cancel all",
        seconds {
            bench.manager.totalCancel(); bench.settle()
        }, atMost: 1)
    precondition(bench.manager.status == .canceled && bench.manager.tasks.isEmpty)
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
    let store = FileStore(directory: directory)
    let kept = try store.load().values.count
    store.close()
    precondition(kept == count)
    let rounds = (0..<5).map { _ in
        let store = FileStore(directory: directory)
        defer { store.close() }
        var count = 0
        let time = seconds { count = (try? store.load())?.values.count ?? 0 }
        precondition(count == kept)
        return time
    }
    check("load \(count) records from a FileStore", rounds.sorted()[2], atMost: 1.5)
    let launches = (0..<3).map { _ in
        var manager: SessionManager?
        let time = seconds { manager = makeManager() }
        precondition(manager?.tasks.count == count)
        manager?.invalidate()
        return time
    }
    check("make a manager that restores them", launches.sorted()[1], atMost: 1.5)
}

growth()
batches(100_000)
try restoring(100_000)
exit(failed ? 1 : 0)
