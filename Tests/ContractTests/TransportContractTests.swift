import Lanner
import LannerCurl
import LannerTesting
import Testing

/// The contract over every transport there is.
@Suite(.timeLimit(.minutes(15)))
struct TransportContractTests {
    @Test func dataTasks() async {
        var waived: [TransportContract.Clause: String] = [:]
        #if !canImport(Darwin)
        waived[.contentCoding] = "URLSession on Linux undoes every coding and cannot be told not to."
        #endif
        let violations = await TransportContract.check(waiving: waived) { URLSessionTransport() }
        #expect(violations == [])
    }

    @Test func downloadTasks() async {
        var waived: [TransportContract.Clause: String] = [:]
        #if !canImport(Darwin)
        waived[.contentCoding] = "URLSession on Linux undoes every coding and cannot be told not to."
        waived[.resumeUnusable] =
            "URLSession on Linux takes no resume data, and calls those it gets an unsupported URL."
        for clause in [.progress, .resume, .resumeChanged] as [TransportContract.Clause] {
            waived[clause] = "URLSession on Linux tells of no bytes on the way and makes no resume data."
        }
        #endif
        let violations = await TransportContract.check(waiving: waived) { URLSessionDownloadTransport() }
        #expect(violations == [])
    }

    @Test func curl() async {
        let violations = await TransportContract.check { try CurlTransport() }
        #expect(violations == [])
    }

    @Test(arguments: [
        TransportTraits(delivery: .pausable), TransportTraits(delivery: .sliced(100...1000, inFlight: 4)),
        TransportTraits(delivery: .file, hasResumeData: true),
    ])
    func scripted(traits: TransportTraits) async {
        let violations = await TransportContract.check(setUp: { .init(ScriptedTransport(traits: traits)) })
        #expect(violations == [])
    }
}
