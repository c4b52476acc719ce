import LannerMachine
import Testing

@testable import LannerCore

@Suite struct RequestCheckTests {
    @Test func ordinaryFieldsPass() throws {
        try RequestCheck.check([
            "Authorization": "Bearer a.b-c_d~e+f/g==", "Cookie": "a=\"b c\"; d=e", "X-Empty": "",
            "x!#$%&'*+-.^_`|~9": "\ta b",
        ])
        try RequestCheck.check([:])
    }

    @Test(arguments: ["a\r\nHost: evil", "a\nb", "a\rb", "a\0b", "\u{1B}[2J", "\u{7F}", "ü", "a\u{2028}b", "\r\n"])
    func valuesAreVisibleCharactersOnOneLine(_ value: String) throws {
        let failure = #expect(throws: DownloadFailure.self) { try RequestCheck.check(["X-Key": value]) }
        #expect(failure?.reason == .transport(.unacceptableRequest))
        let detail = try #require(failure?.detail)
        #expect(detail.contains("X-Key") && !detail.contains(value))
    }

    @Test(arguments: ["", " ", "X Key", "X:", "X-Kéy", "X\r\nY", "\0", "(x)", "a,b", "\"x\"", "X-\u{301}"])
    func namesAreTokens(_ name: String) throws {
        let failure = #expect(throws: DownloadFailure.self) {
            try RequestCheck.check(HeaderFields([.init(name: name, value: "v")]))
        }
        #expect(failure?.reason == .transport(.unacceptableRequest))
        #expect(failure?.detail.utf8.allSatisfy { $0 >= 0x20 } == true)
    }

    @Test(arguments: [
        "Host", "Content-Length", "Transfer-Encoding", "Connection", "TE", "Upgrade", "Range", "If-Range",
        "Accept-Encoding",
        "Expect", "Trailer", "Keep-Alive", "Proxy-Connection", "If-Match", "If-None-Match", "If-Modified-Since",
        "If-Unmodified-Since",
    ])
    func reservedFieldsAreRefusedWithTheReason(_ name: String) throws {
        for name in [name, name.lowercased(), name.uppercased()] {
            let failure = #expect(throws: DownloadFailure.self) { try RequestCheck.check(["Accept": "a", name: "v"]) }
            #expect(failure?.detail.hasPrefix("The header field \(name) cannot be set: ") == true)
        }
    }
}
