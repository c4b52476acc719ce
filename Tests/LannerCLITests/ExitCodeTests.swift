import Lanner
import Testing

@testable import LannerCLI

@Suite struct ExitCodeTests {
    @Test(
        arguments: [
            ([], 0), ([.success, .success], 0), ([.success, .failure], 1), ([.failure, .mismatch], 3),
            ([.mismatch, .disk, .failure], 4), ([.disk, .signal(2)], 130), ([.signal(15), .success], 143),
            ([.usage], 2),
        ] as [([ExitCode], Int32)])
    func tellsTheWorst(_ codes: [ExitCode], _ number: Int32) {
        #expect(ExitCode.worst(codes).number == number)
        #expect(ExitCode.worst(codes.reversed()).number == number)
    }

    @Test(
        arguments: [
            (LannerError.unacceptableStatusCode(code: 404), 1, "status.404"),
            (.failed(DownloadFailure(.transport(.timedOut), "")), 1, "transport.timedOut"),
            (.failed(DownloadFailure(.transport(.diskFull), "")), 4, "transport.diskFull"),
            (.failed(DownloadFailure(.redirect, "")), 1, "redirect"),
            (.failed(DownloadFailure(.unusableResponse, "")), 1, "unusableResponse"),
            (.failed(DownloadFailure(.checksumMismatch, "")), 3, "checksumMismatch"),
            (.failed(DownloadFailure(.disk(.noSpace), "")), 4, "disk.noSpace"),
            (.failed(DownloadFailure(.store, "")), 4, "store"),
            (.storeError(StoreError(.inUse, "")), 1, "store.inUse"),
            (.storeError(StoreError(.disk(.notPermitted), "")), 4, "disk.notPermitted"),
            (.storeError(StoreError(.unknownVersion, "")), 4, "store.unknownVersion"),
            (.cacheError(path: "p", message: "m"), 4, "disk.other"),
            (.invalidated, 1, "other"),
        ] as [(LannerError, Int32, String)])
    func followsFromTheError(_ error: LannerError, _ number: Int32, _ code: String) {
        let trouble = Trouble(error)
        #expect(trouble.exitCode.number == number)
        #expect(trouble.code == code)
    }

    @Test func saysWhatToDo() {
        #expect(
            Trouble(LannerError.unacceptableStatusCode(code: 404)).detail
                == "the server answered with status 404; check the URL")
        let plain = DownloadFailure(.transport(.secureConnectionFailed), "OpenSSL: wrong version number.")
        #expect(Trouble(LannerError.failed(plain)).advice?.contains("http://") == true)
        let untrusted = DownloadFailure(.transport(.secureConnectionFailed), "The certificate is not trusted.")
        #expect(Trouble(LannerError.failed(untrusted)).advice?.contains("--ca-certificate") == true)
        let foreign = DownloadFailure(
            .transport(.secureConnectionFailed),
            "SSL: no alternative certificate subject name matches target host name 'a'.")
        #expect(Trouble(LannerError.failed(foreign)).advice?.hasPrefix("check the host in the URL") == true)
        #expect(Trouble(LannerError.unacceptableStatusCode(code: 407)).advice?.contains("http_proxy") == true)
        let astray = LannerError.unacceptableStatusCode(code: 302)
        #expect(Trouble(astray).advice?.hasPrefix("it leads elsewhere without saying where") == true)
        // A link that has run out.
        let expired = LannerError.unacceptableStatusCode(code: 403)
        #expect(Trouble(expired, held: 10).advice?.contains("by --mirror it may go on") == true)
        #expect(Trouble(expired, held: 10, goesOn: false).advice == Trouble(expired).advice)
        let lost = LannerError.failed(DownloadFailure(.transport(.connectionLost), "It was lost."))
        #expect(Trouble(lost).advice == "run the same command again")
        #expect(Trouble(lost, held: 10).advice == "run the same command again to go on")
        #expect(Trouble(lost, held: 10, goesOn: false).advice == "run the same command again to begin anew")
        let full = DownloadFailure(.disk(.noSpace), "write to f: full; free some space and start again")
        #expect(
            Trouble(LannerError.failed(full)).detail
                == "write to f: full; free some space and run the same command again")
        #expect(
            Trouble(LannerError.failed(.unnamed)).detail.hasSuffix(
                "; log in there and run the same command again, or remove .lanner beside the file, with all that "
                    + "is unfinished there, to begin anew"))
        let two = Trouble(LannerError.failed(DownloadFailure(.disk(.noSpace), "a; b.")))
        #expect(two.reason == "a" && two.advice == "b")
        let unread = StoreError(.disk(.inputOutput), "The store in d could not be read: read f: bad; try again.")
        let reading = Trouble(LannerError.storeError(unread))
        #expect(reading.reason.hasSuffix("read f: bad") && reading.advice == "try again")
        let unmade = LannerError.cacheError(path: "p", message: "p: full; free some space and start again")
        #expect(Trouble(unmade).detail == "p: full; free some space and run the same command again")
        let told = "Its md5 is a, not the b that the server gives; download again, or do not compare digests."
        #expect(
            Trouble(LannerError.failed(DownloadFailure(.checksumMismatch, told))).detail
                == "Its md5 is a, not the b that the server gives; download again, or leave such digests out by "
                + "--no-server-digests")
        #expect(
            Trouble(LannerError.failed(DownloadFailure(.transport(.cannotConnect), "Two\nlines."))).detail
                == "Two\\nlines; check the address, the proxy if there is one, and that the server runs")
    }

    /// What the program tries again by itself, and nothing else, may pass later.
    @Test(arguments: 100...599)
    func saysThatAStatusMayPassWhereItIsTriedAgain(_ status: Int) {
        let advice = Trouble(LannerError.unacceptableStatusCode(code: status)).advice
        let passes = DownloadFailure.Reason.status(status).isWorthRetrying && status != 511
        #expect((advice == "try again later") == passes)
        if status == 511 { #expect(advice == "log in to the network first") }
    }

    @Test func escapesNamesAsSha256sumDoes() throws {
        let digest = try Checksum.Digest(parsing: "md5:" + String(repeating: "0", count: 32))
        let hex = digest.hexadecimal
        #expect(HashCommand.line(digest, "a b") == hex + "  a b")
        #expect(HashCommand.line(digest, "a\\\u{301}\n") == "\\" + hex + "  a\\\\\u{301}\\n")
        #expect(HashCommand.line(digest, "a\\b\nc\r\nd") == "\\" + hex + "  a\\\\b\\nc\\r\\nd")
    }
}
