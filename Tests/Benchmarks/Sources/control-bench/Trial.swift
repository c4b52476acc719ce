import Dispatch
import Figures
import Foundation
import LannerCore

/// How long a call took, in milliseconds.
struct Trial {
    /// Until it returned.
    let call: Double
    /// Of that, what its thread had of the processor: where the rest is much more, other threads had it.
    let processor: Double
    /// Until what it asked for was so, as observers are told.
    let effect: Double

    /// Calls, and waits until every one of the tasks has the status.
    init(_ tasks: [DownloadTask], become status: Status, _ body: () -> Void) throws {
        let arrivals = Arrivals(tasks.count)
        let observations = tasks.map { task in
            task.observe(onMainQueue: false) { event in
                if case .status(status) = event { arrivals.note() }
            }
        }
        let before = Self.processorTime
        let start = ContinuousClock.now
        body()
        let returned = ContinuousClock.now
        processor = Self.processorTime - before
        let end = try arrivals.wait()
        withExtendedLifetime(observations) {}
        (call, effect) = ((returned - start).milliseconds, (end - start).milliseconds)
    }

    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }
}

/// Waits for a number of things that happen on another thread, one at a time, and says when the last did.
// @unchecked Sendable: touched on the manager's operation queue alone, until it is signalled.
private final class Arrivals: @unchecked Sendable {
    private var missing: Int
    private var end = ContinuousClock.now
    private let all = DispatchSemaphore(value: 0)

    init(_ count: Int) {
        missing = count
    }

    func note() {
        missing -= 1
        guard missing == 0 else { return }
        end = .now
        all.signal()
    }

    func wait() throws -> ContinuousClock.Instant {
        guard all.wait(timeout: .now() + 60) == .success else {
            throw Unmeasured("Not all of it has happened in a minute.")
        }
        return end
    }
}

/// Holds the trials of a verb against their bounds, by what 95 of 100 are below: with so many threads that want a
/// processor, a single one may wait for long, whatever it does.
func check(_ verb: String, _ trials: [Trial]) {
    for (name, bound, figures) in [("returns", 5.0, trials.map(\.call)), ("is so", 100.0, trials.map(\.effect))] {
        let note = String(format: ", median %.3f, worst %.3f", figures.percentile(), figures.percentile(100))
        check("\(verb) \(name)", figures.percentile(95), atMost: bound, unit: "ms", note: note)
    }
    let processor = trials.map(\.processor).percentile(100)
    print(String(format: "     its thread had at most %.3f ms of the processor", processor))
}

/// Why there is no figure.
struct Unmeasured: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
