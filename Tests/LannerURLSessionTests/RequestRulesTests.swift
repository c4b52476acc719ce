import Foundation
import LannerCore
import Testing

@testable import LannerURLSession

struct RequestRulesTests {
    let rules = RequestRules(userAgent: "Agent/1")

    @Test(arguments: [
        (Duration.zero, 1.0), (.milliseconds(1), 1), (.seconds(1), 1), (.milliseconds(1500), 2), (.seconds(60), 60),
        (.seconds(-5), 1), (.seconds(86_400), 86_400), (.seconds(86_401), 86_400), (.seconds(Int64.max), 86_400),
        (.seconds(Int64.min), 1),
    ])
    func timeoutsAreWholeSecondsFromOneToADay(asked: Duration, seconds: TimeInterval) throws {
        let url = try #require(URL(string: "http://host/"))
        #expect(try rules.request(for: TransportRequest(url: url, timeout: asked)).timeoutInterval == seconds)
    }

    @Test(arguments: [
        ("http://host/a%20b?q=%2F", "http://host/a%20b?q=%2F"), ("HTTP://host/A", "http://host/A"),
        ("HttpS://host:8443/a#b", "https://host:8443/a"), ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://a_b.example/", "http://a_b.example/"),
    ])
    func aURLIsKeptButForItsSchemeAndFragment(asked: String, sent: String) throws {
        #expect(try RequestRules.url(#require(URL(string: asked))).absoluteString == sent)
    }

    @Test(arguments: [
        "ws://host/", "http:/path", "http://a%20b/", "http://a%00b/", "mailto:a@b", "http://me:secret@host/",
    ])
    func otherURLsAreRefused(asked: String) throws {
        let url = try #require(URL(string: asked))
        #expect(throws: TransportFailure.self) { try RequestRules.url(url) }
    }

    @Test(arguments: [
        "ws://host/?key=secret#secret", "http:/path?secret", "http://me:secret@host/", "http://[::1]/?secret",
    ])
    func aRefusalShowsNoSecret(asked: String) throws {
        let url = try #require(URL(string: asked))
        let refusal = #expect(throws: TransportFailure.self) { try RequestRules.url(url) }
        #expect(refusal?.message.contains("secret") == false)
    }

    @Test func aURLWithoutEndIsRefused() throws {
        let url = try #require(URL(string: "http://host/" + String(repeating: "a", count: 100_000)))
        #expect(throws: TransportFailure.self) { try RequestRules.url(url) }
    }

    #if !canImport(Darwin)
    @Test(arguments: ["http://[::1]/", "http://[::1]:8080/x"])
    func anIPv6AddressIsRefusedWithAReason(asked: String) throws {
        let url = try #require(URL(string: asked))
        let failure = #expect(throws: TransportFailure.self) { try RequestRules.url(url) }
        #expect(failure?.fault == .unacceptableRequest)
        #expect(failure?.message.contains("IPv6") == true)
    }
    #endif

    @Test func linesOfOneNameAreJoined() throws {
        let fields = HeaderFields([
            .init(name: "Accept", value: "a"), .init(name: "accept", value: " b "), .init(name: "Cookie", value: "c=1"),
            .init(name: "cookie", value: "d=2"),
        ])
        let lines = try rules.fields(fields).map { "\($0.name): \($0.value)" }
        #expect(lines == ["Accept: a, b", "Cookie: c=1; d=2", "Accept-Encoding: identity", "User-Agent: Agent/1"])
    }

    @Test func whatIsGivenIsNotReplaced() throws {
        let lines = try rules.fields(["USER-AGENT": "mine", "accept-encoding": "br"]).map(\.value)
        #expect(lines == ["mine", "br"])
    }

    /// It is for a proxy, and none of the server's business.
    @Test func aProxysCredentialsAreNotTheServers() throws {
        let lines = try rules.fields(["proxy-authorization": "Basic c2VjcmV0", "Accept": "a"]).map(\.name)
        #expect(lines == ["Accept", "Accept-Encoding", "User-Agent"])
    }

    @Test(arguments: TransportRules.refusedFields)
    func fieldsOfTheConnectionAreRefused(name: String) {
        #expect(throws: TransportFailure.self) {
            try rules.fields(HeaderFields([.init(name: name.lowercased(), value: "x")]))
        }
    }

    @Test func anAgentThatIsNoFieldValueIsRefused() {
        let rules = RequestRules(userAgent: "a\r\nb")
        #expect(throws: TransportFailure.self) { try rules.fields([:]) }
    }
}
