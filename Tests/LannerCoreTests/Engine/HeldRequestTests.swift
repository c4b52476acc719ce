import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// A limit changes just when a request asks whether it has to wait.
@Suite(.timeLimit(.minutes(10))) struct HeldRequestTests {
    private let bench = TestBench()
    private var engine: Engine { bench.manager.engine }

    private func makeJob(limit: Int64?) throws -> Job {
        let request = DownloadRequest(address, maximumBytesPerSecond: limit, startsImmediately: false)
        let task = try #require(bench.manager.download(request))
        bench.settle()
        return try #require(engine.job(task.id))
    }

    /// Asks on a thread of its own.
    private func ask(_ job: Job) -> (mayBegin: Locked<Bool?>, done: Latch) {
        let (mayBegin, done) = (Locked<Bool?>(nil), Latch())
        Thread.detachNewThread { [engine] in
            let answer = engine.mayBegin(job, 1, .whole)
            mayBegin.withLock { $0 = answer }
            done.open()
        }
        return (mayBegin, done)
    }

    @Test func whatIsLetGoBeforeItWaitsBegins() throws {
        let job = try makeJob(limit: 1)
        engine.throttle.withLock { throttle in
            throttle.open(job.id, limit: 1, at: .zero)
            _ = throttle.charge(1 << 20, to: job.id, at: .zero)
            throttle.close(job.id, at: .zero)
        }
        let (mayBegin, done) = job.state.withLock { state in
            let asked = ask(job)
            while !engine.throttle.withLock({ $0.isHeld(job.id) }) {}
            // It is not among those that wait yet.
            let free = engine.throttle.withLock { throttle in
                throttle.setLimit(nil, of: job.id, at: .zero)
                return throttle.release(at: .zero)
            }
            #expect(free == [job.id] && state.heldBack.numbers.isEmpty)
            return asked
        }
        done.wait()
        #expect(mayBegin.withLock { $0 } == true)
        #expect(job.state.withLock { $0.heldBack.numbers } == [])
    }

    /// Most of the times the other thread has come far enough to wait for the throttle.
    @Test func theLimitThatStaysIsTheOneThatCounts() throws {
        let job = try makeJob(limit: nil)
        for _ in 0..<100 {
            job.task.state.withLock { $0.maximumBytesPerSecond = nil }
            let (_, done) = engine.throttle.withLock { _ in
                let asked = ask(job)
                for _ in 0..<1000 { sched_yield() }
                // No download runs that the throttle could be told of.
                job.task.state.withLock { $0.maximumBytesPerSecond = 1 }
                return asked
            }
            done.wait()
            #expect(!engine.throttle.withLock { $0.isFree(job.id) })
            engine.leaveThrottle(job)
        }
    }
}
