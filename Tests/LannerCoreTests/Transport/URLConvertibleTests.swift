import Foundation
import Testing

@testable import LannerCore

@Suite struct URLConvertibleTests {
    @Test(arguments: [
        ("http://a/%20ü", "http://a/%20%C3%BC"),
        ("http://a/a%20b[1].txt?t=%2B|#%41^", "http://a/a%20b%5B1%5D.txt?t=%2B%7C#%41%5E"),
        ("http://a/%zz%4%41 b", "http://a/%25zz%254%41%20b"),
        ("\t http://a/b \r\n", "http://a/b"), ("\u{A0}http://a/b\u{2028}\u{200B}", "http://a/b"),
        ("http://a?{%7D", "http://a?%7B%7D"),
        ("http://a/%20#%2b#", "http://a/%20#%2b%23"),
        ("http://[::1]:80/%20\"", "http://[::1]:80/%20%22"),
        ("http://bücher.example/%20ü", "http://xn--bcher-kva.example/%20%C3%BC"),
    ])
    func aTextKeepsItsEscapes(_ text: String, _ url: String) throws {
        #expect(try text.asURL().absoluteString == url)
    }

    @Test(arguments: [
        "http://a/b%20c?d=%2B#e%41", "https://user:p%40ss@a:81/b?c", "http://[::1]/", "http://bücher.example/%20",
        "http://u[:p|@a/b%20c", "http://a b/", "x y%20", "a|b/%20[", "//a/ü%20", "mailto:ü%20", "", "%",
    ])
    func onlyPathQueryAndFragmentOfAWholeURLAreEscaped(_ text: String) {
        #expect(Array(WebAddress.escaped(text).utf8) == Array(text.utf8))
        #expect((try? text.asURL()) == URL(string: text))
    }

    @Test(arguments: ["", "http://a:x/ü%20", "http://a/b\nc", "http://a/\0", "http://a/\u{7F}b"])
    func whatIsNoURLIsRefused(_ text: String) throws {
        let error = try #require(throws: LannerError.self) { try text.asURL() }
        #expect("\(error)" == "\(LannerError.invalidURL(url: text))")
    }

    /// What makes a URL of something else may hold anything.
    @Test func errorsTellNoSecrets() throws {
        struct Signed: URLConvertible {
            var token = "secret"
            func asURL() throws -> URL { try "https://a/b?key=\(token)".asURL() }
        }
        var components = URLComponents()
        (components.scheme, components.host, components.user, components.password) = ("https", "a", "me", "secret")
        components.path = "b"
        let known = LannerError.fetchDownloadTaskFailed(url: Signed())
        let unknown = try #require(throws: LannerError.self) { try components.asURL() }
        #expect("\(known)" == "There is no task for “https://a/b?…”.")
        #expect("\(unknown)" == "“URLComponents” is not an http or https URL.")
    }
}
