import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct ChangedFileTests {
    let bytes = large

    private func restarts(_ steps: ScriptedTransport.Step..., expect new: [UInt8]) async throws -> [String] {
        let bench = TestBench.serving(bytes)
        for step in steps { bench.transport.script(place, step) }
        let task = try bench.download()
        let events = EventLog(task)
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
        #expect(bench.holds(new, in: task) == true)
        #expect(bench.files == [task.filePath])
        #expect(task.totalBytes == Int64(new.count))
        return await events.untilRest().filter { $0.hasPrefix("restarted") }
    }

    @Test func beginsAgainWhenTheSizeChanged() async throws {
        let new = Sample.bytes(1_000_000..<2_300_000)
        let restarts = try await restarts(.cut(afterBytes: 1 << 20), .changeTo(.init(new)), expect: new)
        #expect(restarts == ["restarted: contentChanged"])
    }

    @Test func beginsAgainWhenTheTagChanged() async throws {
        let new = bytes.map { ~$0 }
        let restarts = try await restarts(.cut(afterBytes: 1 << 20), .changeTo(.init(new)), expect: new)
        #expect(restarts == ["restarted: contentChanged"])
    }

    @Test func aLateFailureOfTheOldFileIsNotOfTheNewOne() throws {
        let bench = TestBench.serving(bytes)
        bench.transport.script(place, .cut(afterBytes: 1 << 20), .changeTo(.init([1, 2, 3])))
        let task = try bench.download()
        try bench.step { bench.records.first?.saved.written.isEmpty == false }
        let job = try #require(bench.manager.engine.job(task.id))
        let old = job.state.withLock { $0.fileAttempt }
        #expect(bench.runToRest())
        job.state.withLock { state in
            #expect(state.fileAttempt > old && !state.noteFailure(in: old) && !state.hasFileFailed)
            #expect(state.noteFailure(in: state.fileAttempt) && state.hasFileFailed)
        }
    }

    @Test func beginsAgainWhenRangesAreNotServed() async throws {
        let restarts = try await restarts(.cut(afterBytes: 1 << 20), .ignoreRange, expect: bytes)
        #expect(restarts == ["restarted: rangesNotServed"])
    }

    @Test(arguments: [
        ScriptedTransport.Step.wrongRange(offset: 100), .wrongRange(offset: -100), .contentRange(nil),
        .contentRange("bytes nonsense"), .contentRange("bytes 0-9/10"), .multipart,
    ]) func beginsAgainAfterAWrongPart(step: ScriptedTransport.Step) async throws {
        var restarts = try await restarts(.cut(afterBytes: 1 << 20), step, expect: bytes)
        #expect(restarts.isEmpty, "one may be odd")
        restarts = try await self.restarts(.cut(afterBytes: 1 << 20), step, step, expect: bytes)
        #expect(restarts == ["restarted: unusableAnswer"])
    }

    @Test func neverMixesTwoVersionsInSlices() throws {
        let bench = TestBench.serving(
            bytes, traits: TransportTraits(delivery: .sliced(200_000...200_000, inFlight: 2)))
        let new = bytes.map { ~$0 }
        let task = try bench.download(.pass, .pass, .pass, .changeTo(.init(new)))
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
        #expect(bench.holds(new, in: task) == true)
    }

    /// However the answer to the next slice has come upon the new version.
    @Test func theResponseIsThatOfTheVersionThatIsThere() throws {
        let told = Tally()
        let bench = TestBench.serving(
            bytes, traits: TransportTraits(delivery: .sliced(200_000...200_000, inFlight: 1)))
        let task = try bench.download(.pass, .changeTo(.init(bytes.map { ~$0 })))
        let token = task.observe {
            guard case .response(let head) = $0 else { return }
            told.add("\(head.status) \(head.fields["ETag"] ?? "")")
        }
        #expect(bench.runToRest())
        #expect(task.status == .succeeded)
        #expect(told.all.map { $0.prefix(3) } == ["206", "200"] && Set(told.all.map { $0.dropFirst(3) }).count == 2)
        #expect(told.all.last == "200 \(task.response?.fields["ETag"] ?? "")")
        withExtendedLifetime(token) {}
    }

    @Test func showsProgressFromZeroAfterARestart() throws {
        let (bench, told) = (TestBench.serving(bytes), Tally())
        let task = try bench.download(.cut(afterBytes: 2 << 20), .changeTo(.init(bytes.map { ~$0 })))
        let token = task.observe { told.add($0.text) }
        bench.settle()
        #expect(task.completedBytes == 2 << 20)
        bench.transport.holdsAll = true
        bench.run(for: .seconds(60))
        bench.transport.release(bytes: 1 << 20)
        bench.run(for: .seconds(1))
        bench.transport.release(bytes: 1 << 20)
        bench.run(for: .seconds(1))
        bench.transport.release()
        bench.runToRest()
        #expect(task.status == .succeeded)
        let restart = try #require(told.all.firstIndex(of: "restarted: contentChanged"))
        let progress = told.all[restart...].compactMap { line in
            line.contains("/") ? line.split(separator: "/").first.flatMap { Int($0) } : nil
        }
        #expect(progress.first == 0 && progress == progress.sorted())
        #expect(Set(progress) == [0, 1 << 20, 2 << 20, 3 << 20])
        withExtendedLifetime(token) {}
    }

    @Test func neverTakesAnErrorPageForTheFile() throws {
        let bench = TestBench.serving(bytes)
        let task = try bench.download(
            .cut(afterBytes: 1 << 20), .status(500, body: Array("sorry".utf8)), .status(403, body: [1, 2, 3]))
        #expect(bench.runToRest())
        #expect(task.status == .failed)
        #expect(bench.files.count == 1, "the bytes are kept")
        bench.manager.start(task)
        bench.settle()
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.ranges.last == "bytes=1048576-")
    }

    /// A range that claims to be the whole of a shorter file, its body in chunks.
    @Test func doesNotBelieveAnAnswerThatIsLongerThanItSays() throws {
        let bench = TestBench(traits: TransportTraits(delivery: .sliced(1000...1000, inFlight: 2)))
        let bytes = Sample.bytes(500)
        bench.transport.serve(.init(bytes, framing: .chunked), at: place)
        let task = try bench.download(.contentRange("bytes 0-1/2"))
        #expect(bench.runToRest())
        #expect(bench.contents(of: task) == bytes)
        #expect(bench.ranges == ["bytes=0-999", "whole"])
    }
}
