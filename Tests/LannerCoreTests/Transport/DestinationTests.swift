import Foundation
import LannerMachine
import Testing

@testable import LannerCore

@Suite struct DestinationTests {
    func destination(_ url: String, _ fields: HeaderFields = [:]) throws -> Destination {
        try Destination(url: try #require(URL(string: url)), fields: fields)
    }

    /// Where a `Location` leads from a URL; nil when it is refused.
    func target(_ location: String, from url: String = "https://example.com/dir/file?q") throws -> String? {
        var destination = try destination(url)
        do throws(DownloadFailure) {
            try destination.follow(location)
            return destination.url.absoluteString
        } catch {
            #expect(error.reason == .redirect)
            #expect(error.detail.utf8.allSatisfy { $0 >= 0x20 })
            return nil
        }
    }

    @Test(
        arguments: [
            ("next", "https://example.com/dir/next"), ("/next", "https://example.com/next"),
            ("?r", "https://example.com/dir/file?r"),
            ("//other.org/x", "https://other.org/x"), ("http://example.com/x", "http://example.com/x"),
            ("HTTPS://EXAMPLE.com:443/X", "https://example.com/X"), ("https://h:8443", "https://h:8443/"),
            ("https://h:/x", "https://h/x"), ("https://h:080/x", "https://h:80/x"),
            ("x#part", "https://example.com/dir/x"),
            ("#part", "https://example.com/dir/file?q"), (" /x ", "https://example.com/x"),
            ("../../../x", "https://example.com/x"),
            ("//[::1]/x", "https://[::1]/x"), ("//[::1]:8080/x", "https://[::1]:8080/x"),
            ("http://127.0.0.1:80/", "http://127.0.0.1/"),
            ("https://user:secret@h/x", "https://h/x"), ("https://good.org@evil.org/x", "https://evil.org/x"),
            ("/a b", "https://example.com/a%20b"), ("/ü?ö", "https://example.com/%C3%BC?%C3%B6"),
            ("/%zz%4", "https://example.com/%25zz%254"),
            ("/a%2fb", "https://example.com/a%2fb"),
            ("/a[1]|\\^`{}\"<>", "https://example.com/a%5B1%5D%7C%5C%5E%60%7B%7D%22%3C%3E"),
            ("/x?a=[b]&c=d/e?f", "https://example.com/x?a=%5Bb%5D&c=d/e?f"), ("?", "https://example.com/dir/file?"),
            ("https://xn--bcher-kva.example/x", "https://xn--bcher-kva.example/x"),
            ("https://a_b.c/x", "https://a_b.c/x"),
            ("/x:y;z=1,2", "https://example.com/x:y;z=1,2"), ("//h//x", "https://h//x"), ("https:///x", nil),
            ("https://", nil),
            ("//a%20b/", nil), ("//a%2fb/", nil), ("//a b/", nil), ("//a\\b/", nil), ("//bücher.example/", nil),
            ("//@/x", nil),
            ("//[::1/x", nil), ("//[]/x", nil), ("//[1]/x", nil), ("//[::1]x/", nil), ("//[fe80::1%25eth0]/", nil),
            ("//::1/x", nil),
            ("//h:x/", nil),
            ("//h:0/", nil), ("//h:65536/", nil), ("//h:-1/", nil), ("//h:99999999999999999999/", nil),
            ("//h:1:2/", nil),
            ("https:next", nil), ("https:/..//other.org/x", nil), ("ftp://h/x", nil), ("file:///etc/passwd", nil),
            ("data:,x", nil),
            ("javascript:x", nil),
            ("/a\r\nb", nil), ("/a\0b", nil), ("/a\tb", nil), ("//h\r\n/", nil), ("/\u{7F}", nil),
        ] as [(String, String?)])
    func leadsWhereItSaysOrNowhere(_ location: String, _ expected: String?) throws {
        #expect(try target(location) == expected)
    }

    @Test func tooLongALocationIsRefused() throws {
        #expect(try target("/" + String(repeating: "a", count: 8000)) != nil)
        #expect(try target("/" + String(repeating: "a", count: 8192)) == nil)
        // Short enough as it came, too long once it is encoded.
        #expect(try target("/" + String(repeating: " ", count: 4000) + "a") == nil)
    }

    @Test func whatIsRefusedChangesNothing() throws {
        var destination = try destination("http://h/0")
        try destination.follow("/1")
        let before = destination
        #expect(throws: DownloadFailure.self) { try destination.follow("ftp://h/2") }
        #expect(destination == before)
    }

    static let everything: HeaderFields = [
        "Authorization": "Bearer x", "Cookie": "a=b", "Proxy-Authorization": "Basic x", "X-Api-Key": "k",
        "Referer": "r",
        "accept": "*/*", "Accept-Language": "de", "user-agent": "test",
    ]

    @Test(arguments: [
        ("https://h/a", "/b", true), ("https://h/a", "https://H:443/b", true), ("http://h:80/a", "http://h/b", true),
        ("http://h:8080/a", "//h:8080/b", true), ("https://h/a", "https://user@h/b", true),
        ("https://h/a", "http://h/b", false), ("http://h/a", "https://h/b", false),
        ("https://h/a", "https://h:444/b", false),
        ("https://h/a", "https://h./b", false), ("https://h/a", "https://sub.h/b", false),
        ("https://h/a", "//h@evil/b", false),
        ("https://h/a", "http://h:443/b", false), ("https://127.0.0.1/a", "https://localhost/b", false),
    ])
    func credentialsStayWithTheirOrigin(_ url: String, _ location: String, _ stay: Bool) throws {
        var destination = try destination(url, Self.everything)
        try destination.follow(location)
        let harmless: HeaderFields = ["accept": "*/*", "Accept-Language": "de", "user-agent": "test"]
        #expect(destination.fields == (stay ? Self.everything : harmless))
    }

    @Test func whatWasDroppedDoesNotComeBack() throws {
        var destination = try destination("https://user:pw@h/a", ["X-Api-Key": "k"])
        #expect(destination.fields["Authorization"] != nil)
        try destination.follow("https://other/b")
        try destination.follow("https://h/a")
        #expect(destination.fields == [:])
    }

    @Test(arguments: [
        ("http://user:pw@h/x", "user:pw"), ("http://user@h/x", "user:"), ("http://:pw@h/x", ":pw"),
        ("http://@h/x", ":"),
        ("http://a%40b:c%3Ad%2F@h/x", "a@b:c:d/"), ("http://user:p:w@h/x", "user:p:w"),
        ("http://%C3%BC:%C3%B6@h/x", "ü:ö"),
    ])
    func userInfoBecomesAField(_ url: String, _ credentials: String) throws {
        let destination = try destination(url)
        #expect(destination.url.absoluteString == "http://h/x")
        #expect(destination.fields["Authorization"] == "Basic " + Data(credentials.utf8).base64EncodedString())
    }

    /// As a server has it that keeps names in Latin-1.
    @Test func userInfoNeedNotBeUTF8() throws {
        let value = try destination("http://%FC:p%E9@h/x").fields["Authorization"]
        #expect(value == "Basic " + Data([0xFC, 0x3A, 0x70, 0xE9]).base64EncodedString())
    }

    /// A password that was changed comes with another link.
    @Test(
        arguments: [
            ("http://u:new@h/f", [:], "u:new"), ("http://h/g", [:], "u:old"), ("http://u:new@other/f", [:], "u:new"),
            ("http://u:new@h/f", ["Authorization": "Bearer x"], nil),
        ] as [(String, HeaderFields, String?)])
    func theUserInfoOfALinkIsThatOfTheLink(_ link: String, _ fields: HeaderFields, _ credentials: String?) throws {
        let link = KeptLink(url: try #require(URL(string: link)), fields: nil)
        let url = try #require(URL(string: "http://u:old@h/f"))
        let expected = credentials.map { "Basic " + Data($0.utf8).base64EncodedString() } ?? "Bearer x"
        #expect(try Destination(link, url: url, fields: fields).fields["Authorization"] == expected)
    }

    @Test func aCallersOwnAuthorizationIsKept() throws {
        #expect(try destination("http://u:p@h/", ["authorization": "Bearer x"]).fields == ["authorization": "Bearer x"])
        #expect(throws: DownloadFailure.self) { try destination("http://u%3Av:p@h/") }
    }

    @Test(
        arguments: [
            ("HTTP://Example.COM", "http://example.com/"), ("https://h/a#b", "https://h/a"),
            ("http://[::1]:81/x", "http://[::1]:81/x"),
            ("http://h/%41?%zz", nil), ("ftp://h/x", nil), ("h/x", nil), ("/x", nil), ("http:///x", nil),
            ("http:x", nil),
            ("file:///x", nil), ("http://h:70000/", nil), ("mailto:a@b", nil),
        ] as [(String, String?)])
    func aCallersURLIsChecked(_ text: String, _ expected: String?) throws {
        // Foundation itself may refuse or repair; only what it lets through is ours to judge.
        guard let url = URL(string: text), url.absoluteString == text else { return }
        do throws(DownloadFailure) {
            let destination = try Destination(url: url, fields: [:])
            #expect(destination.url.absoluteString == expected)
        } catch {
            #expect(expected == nil && error.reason == .transport(.unacceptableRequest))
        }
    }

    @Test func secretsAreNotShownInErrors() throws {
        let urls = ["ftp://user:secret@h/x?key=secret", "http://user:secret@h:70000/?secret"]
        var details = urls.map { text in
            #expect(throws: DownloadFailure.self) { try self.destination(text) }?.detail ?? ""
        }
        var destination = try destination("http://h/?key=secret")
        details.append(
            #expect(throws: DownloadFailure.self) { try destination.follow("ftp://user:secret@h/?secret") }?.detail
                ?? "")
        #expect(details.allSatisfy { !$0.contains("secret") && $0.contains("//h") })
    }

    @Test(arguments: [
        ("https://me:pw@h/a?b=c#d", "https://h/a?…#…"), ("me:pw@h/a", "h/a"), ("//me@h", "//h"),
        ("http://me:p/w@h/a", "http://h/a"), ("https:/me:pw@h/a", "h/a"), ("http:///me:pw@h/a", "http://h/a"),
        ("http://me:p?w@h/a@b", "http://b"), ("http://me:pw@ho st/a", "http://ho st/a"),
        ("/@scope/a", "/@scope/a"), ("https://h/a@b", "https://h/a@b"), ("a\nb", "a\\nb"),
        ("a\u{202E}b", "a\\u{202E}b"), ("", ""),
    ])
    func whatMayBeASecretIsLeftOut(text: String, shown: String) {
        #expect(Destination.redacted(text) == shown)
    }

    @Test func garbageLeadsNowhereOrToAnAddress() throws {
        var generator = SeededGenerator(seed: 11)
        let pieces = [
            "/", "//", "..", ":", "?", "#", "@", "[", "]", "::1", "%", "%2f", "%00", "a", "http", "https:", "é",
            "\u{301}", "\r\n",
            "\0", " ", "\\", "80", "99999999999999999999", "xn--", "-", "\u{202E}", "🕰",
        ]
        for _ in 0..<3000 {
            var destination = try destination("https://h/a/b?c")
            let location = (0..<Int.random(in: 0...8, using: &generator)).compactMap { _ in
                pieces.randomElement(using: &generator)
            }.joined()
            guard (try? destination.follow(location)) != nil else { continue }
            let text = destination.url.absoluteString
            #expect(
                text.hasPrefix("http") && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F },
                "\(location.debugDescription)")
            #expect(destination.url.host()?.isEmpty == false && destination.url.user() == nil)
            // What Foundation makes of it is what was checked.
            #expect(try Destination(url: destination.url, fields: [:]).url == destination.url)
        }
    }
}
