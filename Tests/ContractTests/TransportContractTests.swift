import Foundation
import Lanner
import LannerCurl
import LannerTesting
import Testing

@testable import LannerURLSession

/// The contract over every transport there is.
@Suite(.timeLimit(.minutes(10)))
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

    /// The background transport, over a session that ends with the process: all but that is tried.
    @Test func backgroundTasks() async {
        var waived: [TransportContract.Clause: String] = [:]
        #if !canImport(Darwin)
        waived[.contentCoding] = "URLSession on Linux undoes every coding and cannot be told not to."
        waived[.resumeUnusable] =
            "URLSession on Linux takes no resume data, and calls those it gets an unsupported URL."
        for clause in [.progress, .resume, .resumeChanged] as [TransportContract.Clause] {
            waived[clause] = "URLSession on Linux tells of no bytes on the way and makes no resume data."
        }
        #endif
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        let sessions = Locked<[ObjectIdentifier: String]>([:])
        let violations = await TransportContract.check(waiving: waived) { last in
            let identifier = sessions.withLock { $0[ObjectIdentifier(last as AnyObject)] } ?? ""
            let next = URLSessionBackgroundTransport(foregroundSession: identifier, directory: directory)
            sessions.withLock { $0[ObjectIdentifier(next)] = identifier }
            return next
        } make: {
            let identifier = UUID().uuidString
            let transport = URLSessionBackgroundTransport(
                foregroundSession: identifier, directory: directory.appendingPathComponent(identifier))
            sessions.withLock { $0[ObjectIdentifier(transport)] = identifier }
            return transport
        }
        #expect(violations == [])
        try? FileManager.default.removeItem(at: directory)
    }

    @Test func curl() async {
        let violations = await TransportContract.check { try CurlTransport() }
        #expect(violations == [])
    }

    @Test(arguments: [
        TransportTraits(delivery: .pausable), TransportTraits(delivery: .sliced(100...1000, inFlight: 4)),
        TransportTraits(delivery: .file, hasResumeData: true),
        TransportTraits(delivery: .file, hasResumeData: true, outlivesProcess: true),
    ])
    func scripted(traits: TransportTraits) async {
        let violations = await TransportContract.check(setUp: { .init(ScriptedTransport(traits: traits)) })
        #expect(violations == [])
    }
}
