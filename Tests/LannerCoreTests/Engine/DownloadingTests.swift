import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct DownloadingTests {
    @Test(arguments: [0, 1, 1 << 20, 3_000_000] as [Int64]) func downloadsAFile(of size: Int64) async throws {
        let bytes = Sample.bytes(size)
        let bench = TestBench.serving(bytes)
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(bytes, in: task) == true)
        #expect(try await task.file.path == task.filePath)
        #expect(task.completedBytes == size && task.totalBytes == size)
        #expect(task.response?.status == 200)
        #expect(task.error == nil)
        #expect(bench.manager.status == .succeeded)
        #expect(bench.transport.underway == 0)
        #expect(bench.files == [task.filePath], "nothing else is left")
    }

    @Test func aFileIsLookedForWhenTheManagerIsGone() async throws {
        func finished() throws -> (MemoryDisk, DownloadTask) {
            let bench = TestBench.serving([1, 2, 3])
            let task = try bench.download()
            bench.settle()
            return (bench.disk, task)
        }
        let (disk, task) = try finished()
        #expect(task.manager == nil && task.status == .succeeded)
        #expect(try await task.file.path == task.filePath)
        #expect(disk.remove(at: task.filePath))
        let error = await #expect(throws: LannerError.self) { _ = try await task.file }
        #expect(failure(error)?.reason == .disk(.notFound))
    }

    private func failure(_ error: LannerError?) -> DownloadFailure? {
        if case .failed(let failure) = error { failure } else { nil }
    }

    /// Firewalls refuse requests that do not say what they accept.
    @Test(arguments: [nil, "text/csv"] as [String?]) func saysWhatItAccepts(own: String?) throws {
        let bench = TestBench.serving([1, 2, 3])
        bench.manager.download(address, headers: own.map { ["accept": $0] } ?? [:])
        bench.settle()
        #expect(bench.transport.requests.map { $0.fields.values(of: "Accept") } == [[own ?? "*/*"]])
    }

    @Test func downloadsInSlices() throws {
        let bytes = Sample.bytes(1_000_000)
        let traits = TransportTraits(delivery: .sliced(100_000...300_000, inFlight: 2))
        let bench = TestBench.serving(bytes, traits: traits)
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.ranges.first == "bytes=0-99999")
        #expect(bench.ranges.count > 3)
        #expect(bench.transport.requests.dropFirst().allSatisfy { $0.fields["If-Range"] != nil })
    }

    /// A host that is to have one connection has one.
    @Test(arguments: [1, 2]) func asksForOneSliceAtATimeWhereAHostTakesOne(perHost: Int) throws {
        let traits = TransportTraits(delivery: .sliced(100_000...300_000, inFlight: 2))
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksPerHost = perHost
        let bench = TestBench.serving(Sample.bytes(1_000_000), configuration: configuration, traits: traits)
        bench.transport.always(place, .stall(afterBytes: 99_000))
        _ = try bench.download()
        bench.settle()
        #expect(bench.transport.requests.count == perHost)
    }

    @Test(arguments: [0, 1, 100_000, 100_001] as [Int64]) func downloadsAnySizeInSlices(size: Int64) throws {
        let traits = TransportTraits(delivery: .sliced(100_000...300_000, inFlight: 2))
        let bench = TestBench.serving(Sample.bytes(size), traits: traits)
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.contents(of: task) == Sample.bytes(size))
    }

    @Test func downloadsInSlicesFromAServerWithoutRanges() throws {
        let bytes = Sample.bytes(1_000_000)
        let traits = TransportTraits(delivery: .sliced(100_000...300_000, inFlight: 2))
        let bench = TestBench(traits: traits)
        bench.transport.serve(.init(bytes, acceptsRanges: false), at: place)
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(bytes, in: task) == true)
        #expect(bench.transport.requests.count == 1)
    }

    @Test func downloadsWithoutALength() throws {
        let bytes = Sample.bytes(200_000)
        let bench = TestBench()
        bench.transport.serve(.init(bytes, framing: .chunked), at: place)
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.holds(bytes, in: task) == true)
        #expect(task.totalBytes == 200_000)
    }

    @Test func asksForIdentityWithTheCallersFields() throws {
        let bench = TestBench.serving([1])
        bench.manager.download(address, headers: ["User-Agent": "Test", "Cookie": "a=b"])
        bench.settle()
        let fields = try #require(bench.transport.requests.first).fields
        #expect(fields["User-Agent"] == "Test" && fields["Cookie"] == "a=b")
        #expect(fields["Accept-Encoding"] == "identity")
        #expect(fields["Range"] == nil)
    }

    @Test func namesTheFile() throws {
        let bench = TestBench.serving([1, 2])
        let task = try #require(bench.manager.download(address, fileName: "my file.bin"))
        bench.settle()
        #expect(bench.files == ["/downloads/File/my file.bin"])
        #expect(task.fileName == "my file.bin" && task.pathExtension == "bin")
    }

    @Test func replacesAnEarlierFile() throws {
        let bench = TestBench.serving([1, 2])
        bench.disk.put([9, 9, 9], at: "/downloads/File/name")
        let task = try #require(bench.manager.download(address, fileName: "name"))
        bench.settle()
        #expect(bench.contents(of: task) == [1, 2])
    }

    @Test func tellsAllEvents() async throws {
        let bench = TestBench.serving(large)
        let task = try bench.download(.stall(afterBytes: 2 << 20))
        let events = EventLog(task)
        bench.run(for: .seconds(1))
        bench.transport.release()
        bench.settle()
        let seen = await events.untilRest()
        // Of the progress only the latest waits.
        #expect(seen == ["running", "response: 200", "3145728/3145728", "succeeded"])
    }

    @Test func recordsWhatItKnows() throws {
        let bench = TestBench.serving(Sample.bytes(1000))
        let task = try #require(bench.manager.download(address, headers: ["X-Key": "k"], fileName: "name"))
        bench.settle()
        let record = try #require(bench.records.first)
        #expect(record.saved.status == .succeeded)
        #expect(record.saved.total == 1000)
        #expect(record.url == address && record.place.name == "name" && record.fields["X-Key"] == "k")
        #expect(record.startDate > 0 && record.endDate >= record.startDate)
        #expect(task.endDate == record.endDate)
    }
}
