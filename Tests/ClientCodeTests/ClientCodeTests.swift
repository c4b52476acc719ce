import ClientModel
import Foundation
import Lanner
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

    @Test func theSeamsCanBeNamed() {
        let hasher: any Checksum.Hasher = Checksum.Algorithm.sha256.makeHasher()
        let clock: any SessionManager.Clock = SystemClock()
        #expect(hasher.digest().count == 32)
        #expect(clock.now >= .zero)
    }
}
