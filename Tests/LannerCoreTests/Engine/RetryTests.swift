import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct RetryTests {
    let bytes = large

    @Test func resumesAfterACut() async throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(.cut(afterBytes: 1_500_000))
        let events = EventLog(task)
        bench.settle()
        #expect(task.status == .waiting)
        #expect(task.completedBytes == 1_500_000)
        guard case .retry = task.waitingReason else { return #expect(Bool(false), "it waits for its retry") }
        bench.runToRest()
        #expect(task.status == .succeeded)
        #expect(task.error == nil)
        #expect(bench.holds(bytes, in: task) == true)
        let last = try #require(bench.transport.requests.last)
        #expect(last.fields["Range"] == "bytes=1500000-")
        #expect(last.fields["If-Range"]?.hasPrefix("\"") == true)
        let seen = await events.untilRest()
        #expect(seen.contains { $0.hasPrefix("retrying:") })
        #expect(!seen.contains { $0.hasPrefix("restarted:") })
    }

    @Test func resumesByDate() throws {
        let bench = TestBench()
        let date = Date(timeIntervalSince1970: 1_600_000_000)
        bench.transport.serve(.init(bytes, entityTag: nil, lastModified: date), at: place)
        let task = try bench.download(.cut(afterBytes: 1 << 20))
        bench.runToRest()
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.ranges == ["whole", "bytes=1048576-"])
        #expect(bench.transport.requests.last?.fields["If-Range"]?.hasSuffix("GMT") == true)
    }

    @Test func beginsAgainWithoutAValidator() throws {
        let bench = TestBench()
        bench.transport.serve(.init(bytes, entityTag: nil), at: place)
        let task = try bench.download(.cut(afterBytes: 1 << 20))
        bench.runToRest()
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.ranges == ["whole", "whole"])
    }

    @Test func failsWhenTheRetriesAreUsedUp() throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy.maximumRetries = 2
        let bench = TestBench.serving(bytes, configuration: configuration)
        bench.transport.always(place, .failure(.notConnected))
        let task = try bench.download()
        #expect(bench.runToRest())
        #expect(task.status == .failed)
        #expect(task.reason == .transport(.notConnected))
        #expect(bench.transport.requests.count == 3)
        bench.transport.always(place, nil)
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded && task.error == nil)
    }

    @Test func forgivesFailuresOnceBytesAdvance() throws {
        var configuration = SessionConfiguration()
        configuration.retryPolicy.maximumRetries = 1
        let bench = TestBench.serving(bytes, configuration: configuration)
        for _ in 0..<10 { bench.transport.script(place, .cut(afterBytes: 200_000)) }
        let task = try bench.download()
        #expect(bench.runToRest())
        #expect(bench.holds(bytes, in: task) == true)
    }

    @Test func waitsAsLongAsTheServerAsks() throws {
        let bench = TestBench.serving([1])
        let task = try bench.download(.status(503, ["Retry-After": "120"]))
        bench.run(for: .seconds(119))
        #expect(task.status == .waiting)
        bench.run(for: .seconds(2))
        #expect(task.status == .succeeded)
    }

    @Test(arguments: [404, 403, 410, 401, 204]) func failsAtOnce(status: Int) throws {
        let bench = TestBench()
        let task = try bench.download(.status(status, body: Array("an error page".utf8)))
        bench.settle()
        #expect(task.status == .failed)
        guard case .unacceptableStatusCode(status) = task.error as? LannerError else {
            return #expect(Bool(false), "\(String(describing: task.error))")
        }
        #expect(bench.files.filter { $0.contains("/File/") } == [])
        #expect(bench.transport.underway == 0, "the error page is not waited for")
    }

    @Test func givesUpASilentServer() throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(.hold, .stall(afterBytes: 100_000))
        bench.run(for: .seconds(59))
        #expect(task.status == .running)
        bench.run(for: .seconds(3))
        #expect(bench.transport.requests.count == 2)
        bench.run(for: .seconds(70))
        #expect(task.status == .succeeded)
        #expect(bench.ranges == ["whole", "whole", "bytes=100000-"])
        #expect(bench.holds(bytes, in: task) == true)
    }

    /// What an earlier attempt came to is not why the task rests.
    @Test func theErrorIsThatOfTheLastAttempt() throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(.cut(afterBytes: 400_000), .stall(afterBytes: 100))
        bench.settle()
        #expect(task.status == .waiting && task.error != nil)
        bench.run(for: .seconds(3))
        #expect(task.status == .running && task.error == nil)
        bench.manager.suspend(task)
        bench.settle()
        #expect(task.status == .suspended && task.error == nil)
    }

    @Test func startsAtOnceWhenAsked() throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(.failure(.cannotConnect))
        bench.settle()
        #expect(task.status == .waiting)
        bench.manager.start(task)
        bench.settle()
        #expect(task.status == .succeeded)
    }

    @Test func endsAnAnswerThatIsTooLong() throws {
        let bench = TestBench.serving(bytes)
        var long = ResponseHead(status: 200, fields: ["Content-Length": "100", "ETag": "\"a\""])
        long.fields["Accept-Ranges"] = "bytes"
        let task = try bench.download(.exactly(long, body: Sample.bytes(200_000)))
        bench.settle()
        #expect(bench.transport.underway == 0, "what is of no use is not received")
        #expect(task.status != .running)
    }

    /// The bytes behind a slice are not this answer's to give.
    @Test func takesNothingBeyondTheEndOfASlice() throws {
        let delivery = TransportTraits.Delivery.sliced(200_000...200_000, inFlight: 1)
        let bench = TestBench(traits: TransportTraits(delivery: delivery))
        bench.transport.serve(.init(bytes, entityTag: .strong("a")), at: place)
        let long = ResponseHead(
            status: 206, fields: ["Content-Range": "bytes 0-199999/\(bytes.count)", "ETag": "\"a\""])
        let junk = [UInt8](repeating: 0xAA, count: 100_000)
        let task = try bench.download(.exactly(long, body: Array(bytes[..<200_000]) + junk))
        #expect(bench.runToRest())
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.ranges == ["bytes=0-199999", "whole"], "an answer that contradicts itself is not believed")
    }

    @Test func keepsTimersFew() throws {
        let bench = TestBench()
        bench.transport.serveElsewhere(.init(Sample.bytes(1000)))
        _ = try bench.download(.status(503, ["Retry-After": "600"]), .stall(afterBytes: 100))
        for number in 0..<50 {
            bench.transport.script("/\(number)", .stall(afterBytes: 100))
            bench.manager.download("https://example.com/\(number)")
            bench.run(for: .seconds(1))
            bench.transport.release()
            bench.settle()
        }
        #expect(bench.clock.scheduledCount <= 2)
        bench.run(for: .seconds(570))
        #expect(bench.clock.scheduledCount == 1)
    }
}
