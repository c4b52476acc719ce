import LannerMachine
import Testing

@testable import LannerCore

@Suite struct URIReferenceTests {
    static let base = URIReference("http://a/b/c/d;p?q")

    /// RFC 3986, 5.4.1.
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
        ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"),
    ])
    func resolvesTheNormalExamples(_ reference: String, _ expected: String) {
        #expect(URIReference(reference).resolved(against: Self.base).text == expected)
    }

    /// RFC 3986, 5.4.2.
    @Test(arguments: [
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g#s/./x"),
        ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
    ])
    func resolvesTheAbnormalExamples(_ reference: String, _ expected: String) {
        #expect(URIReference(reference).resolved(against: Self.base).text == expected)
    }

    @Test(arguments: [
        ("http://a", "g", "http://a/g"), ("http://a?q", "g", "http://a/g"), ("http://a", "?y", "http://a?y"),
        ("http://a/b", "//h/../x/./y/..", "http://h/x/"), ("http://a/b/", "..//g", "http://a//g"),
        ("http://a/b//c", "../g", "http://a/b/g"), ("http://a/b", "x:y/z", "x:y/z"),
        ("http://a/b", "./x:y", "http://a/x:y"),
        ("http://a/b", "1x:y", "http://a/1x:y"), ("http://a/b", "https://c/d/../e", "https://c/e"),
        ("http://a/b?c/d", "e", "http://a/e"), ("http://a/b", "/%2e%2e/c", "http://a/%2e%2e/c"),
    ])
    func resolvesAgainstOtherBases(_ base: String, _ reference: String, _ expected: String) {
        #expect(URIReference(reference).resolved(against: URIReference(base)).text == expected)
    }

    /// RFC 3986, 5.2.4, and its edges.
    @Test(arguments: [
        ("/a/b/c/./../../g", "/a/g"), ("mid/content=5/../6", "mid/6"), ("", ""), ("/", "/"), (".", ""), ("..", ""),
        ("../a", "a"), ("./a", "a"), ("/..", "/"), ("/.", "/"), ("/a/..", "/"), ("/a/../..", "/"), ("//", "//"),
        ("/a//../b", "/a/b"), ("a/..", "/"), ("...", "..."), ("/...", "/..."),
    ])
    func removesDotSegments(_ path: String, _ expected: String) {
        #expect(URIReference.removingDotSegments(path) == expected)
    }

    @Test(arguments: [
        "http://u:p@h:1/p/q?r#s", "//h", "/p", "p", "?", "#", "?#", "a:", "a:b", ":", "://", "http://", "http:///",
        "//?#",
        "http://h?q?r#s#t", "h//i", "é:ü", "http://h/\r\n", "http://[::1]/x", "\u{301}:/", "?\u{301}#", "+a:b",
        "a+.-1:b",
    ])
    func joinsWhatItTookApart(_ text: String) {
        #expect(URIReference(text).text == text)
    }

    @Test func takesApartAndResolvesGarbage() {
        var generator = SeededGenerator(seed: 3)
        let pieces = [
            "/", "//", ".", "..", ":", "?", "#", "@", "[", "]", "%", "a", "http", "é", "\u{301}", "\r\n", "\0", " ",
        ]
        for _ in 0..<3000 {
            let texts = (0..<2).map { _ in
                (0..<Int.random(in: 0...9, using: &generator)).compactMap { _ in pieces.randomElement(using: &generator)
                }
                .joined()
            }
            let (one, other) = (URIReference(texts[0]), URIReference(texts[1]))
            #expect(Array(one.text.utf8) == Array(texts[0].utf8))
            let path = one.resolved(against: other).path
            // Without a path of its own it is where the other is, which need not be resolved itself.
            let isThere = one.scheme == nil && one.authority == nil && one.path.isEmpty
            #expect(path == (isThere ? other.path : URIReference.removingDotSegments(path)), "\(texts)")
        }
    }
}
