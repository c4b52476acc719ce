import ClientModel
import Foundation
import Lanner
import LannerTesting
import Testing

@Suite struct ClientCodeTests {
    @Test func standardNamesKeepTheirMeaning() async throws {
        #expect(Set([Episode(title: "one"), Episode(title: "one")]).count == 1)
        #expect(await Countdown().elapsed() >= .zero)
    }

    @Test func namesOfOtherModulesAreNotTaken() {
        let screen = Screen()
        #expect(throws: ClientModel.Failure.self) { try screen.result.get() }
        #expect(load { 1 } == .success(1))
    }

    @Test func theHandlersCanBeNamed() {
        let tell: DownloadTask.Handler = { _ in }
        let tellAll: SessionManager.Handler = { _ in }
        let failure: any Error = DownloadFailure(.redirect, "")
        #expect(failure is DownloadFailure)
        _ = (tell, tellAll)
    }

    @Test @MainActor func viewsUseWhatIsTheirsInClosures() {
        let (bench, view, url) = (TestBench(), EpisodeView(), "https://example.com/one")
        bench.transport.serve(.init([1, 2, 3]), at: "/one")
        view.show(url, by: bench.manager)
        #expect(bench.runToRest())
        view.remove(url, from: bench.manager)
        bench.settle()
        #expect(Set(view.lines).isSuperset(of: ["suspended", "started", "3", "succeeded", "ended succeeded", "gone"]))
        #expect(Set(view.lines).isSuperset(of: ["is succeeded", "incorrect", "1.0"]))
    }

    @Test func theSeamsCanBeNamed() {
        let hasher: any Checksum.Hasher = Checksum.Algorithm.sha256.makeHasher()
        let clock: any SessionManager.Clock = SystemClock()
        #expect(hasher.digest().count == 32)
        #expect(clock.now >= .zero)
    }
}
