import Foundation
import Lanner
import Testing

@Suite struct ClientCodeTests {
    @Test func standardNamesKeepTheirMeaning() async throws {
        #expect(Set([Episode(title: "one"), Episode(title: "one")]).count == 1)
        #expect(await Countdown().elapsed() >= .zero)
    }

    @Test func theSeamsCanBeNamed() {
        let hasher: any Checksum.Hasher = Checksum.Algorithm.sha256.makeHasher()
        let clock: any SessionManager.Clock = SystemClock()
        #expect(hasher.digest().count == 32)
        #expect(clock.now >= .zero)
    }
}
