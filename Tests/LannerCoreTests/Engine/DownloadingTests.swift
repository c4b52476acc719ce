import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Where most tests have their file.
let place = "/file.bin"
let address = "https://example.com/file.bin"

@Suite struct DownloadingTests {
    @Test func downloadsAFile() async throws {
        let bench = TestBench()
        let bytes = Sample.bytes(3_000_000)
        bench.transport.serve(.init(bytes), at: place)
        let task = try #require(bench.manager.download(address))
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.contents(of: task) == bytes)
        #expect(try await task.file.path == task.filePath)
        #expect(task.completedBytes == 3_000_000 && task.totalBytes == 3_000_000)
        #expect(task.response?.status == 200)
        #expect(task.error == nil)
        #expect(bench.manager.status == .succeeded)
        #expect(bench.transport.underway == 0)
        #expect(bench.disk.files == ["/downloads/File/" + task.fileName, "/downloads/Tmp/lock"])
    }
}
