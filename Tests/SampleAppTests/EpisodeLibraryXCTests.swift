import Foundation
import Lanner
import LannerTesting
import XCTest

/// The same with XCTest.
final class EpisodeLibraryXCTests: XCTestCase {
    func testFetchesAnEpisode() {
        let bench = TestBench()
        bench.transport.serve(.init(.generated(seed: 1, length: 1000)), at: "/falcons.mp3")
        let library = EpisodeLibrary(manager: bench.manager)
        let episode = Episode(title: "Falcons", url: "https://example.com/falcons.mp3")
        library.fetch(episode)
        bench.settle()
        XCTAssertEqual(library.state(of: episode), .ready)
    }

    func testShowsTheListWithoutTheNetwork() {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("episodes-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let transport = UnimplementedTransport { XCTFail($0) }
        let manager = SessionManager("episodes", transport: transport, cache: Cache("episodes", downloadPath: path))
        let library = EpisodeLibrary(manager: manager)
        XCTAssertEqual(library.state(of: Episode(title: "Falcons", url: "https://example.com/falcons.mp3")), .absent)
        manager.invalidate()
    }
}
