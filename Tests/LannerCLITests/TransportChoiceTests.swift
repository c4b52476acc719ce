import Lanner
import LannerCurl
import Testing

@testable import LannerCLI

@Suite struct TransportChoiceTests {
    private static func missing(_: CurlTransport.Options) throws(CurlUnavailable) -> any Transport {
        throw CurlUnavailable(.notLoaded("libcurl.so.4: no such file"))
    }

    @Test func autoTakesCurlAndSaysNothing() throws {
        var notes: [String] = []
        #expect(try TransportChoice.auto.make { notes.append($0) } is CurlTransport)
        #expect(try TransportChoice.curl.make { notes.append($0) } is CurlTransport)
        #expect(!(try TransportChoice.urlsession.make { notes.append($0) } is CurlTransport))
        #expect(notes.isEmpty)
    }

    @Test func autoFallsBackAndSaysWhy() throws {
        var notes: [String] = []
        let transport = try TransportChoice.auto.make(loading: Self.missing) { notes.append($0) }
        #expect(!(transport is CurlTransport))
        #expect(notes.count == 1)
        #expect(notes.first?.hasPrefix("lanner: goes on with URLSession") == true)
        #expect(notes.first?.contains("Install libcurl") == true)
    }

    /// As `curl` does, and before that what OpenSSL's own programs do.
    @Test func trustsWhomTheEnvironmentNames() throws {
        let told = Locked<[String?]>([])
        for (given, environment) in [
            (nil, [:]), (nil, ["SSL_CERT_FILE": "b"]), (nil, ["SSL_CERT_FILE": "b", "CURL_CA_BUNDLE": "a"]),
            (nil, ["CURL_CA_BUNDLE": ""]), ("c", ["CURL_CA_BUNDLE": "a"]),
        ] as [(String?, [String: String])] {
            _ = try TransportChoice.auto.make(
                trusting: given, environment: environment,
                loading: { options in
                    told.withLock { $0.append(options.certificateAuthorities) }
                    return DefaultTransport.make()
                }, note: { _ in })
        }
        #expect(told.withLock { $0 } == [nil, "b", "a", nil, "c"])
    }

    @Test(arguments: [(.curl, nil), (.curl, "file"), (.auto, "file")] as [(TransportChoice, String?)])
    func curlIsCurlOrNothing(choice: TransportChoice, authorities: String?) {
        #expect(throws: CurlUnavailable.self) {
            try choice.make(trusting: authorities, loading: Self.missing) { _ in Issue.record("a note") }
        }
    }
}
