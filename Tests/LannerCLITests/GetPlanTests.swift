import Foundation
import Testing

@testable import LannerCLI

@Suite struct GetPlanTests {
    @Test(arguments: [
        ("http://a/x.iso", "x.iso"),
        ("http://a/dir/x.iso?download=1#top", "x.iso"),
        ("http://a", "index.html"),
        ("http://a/", "index.html"),
        ("http://a/dir/", "index.html"),
        ("http://a/..", "index.html"),
        ("http://a/%2E%2E", "index.html"),
        ("http://a/.", "index.html"),
        ("http://a/%2Fetc%2Fpasswd", "_etc_passwd"),
        ("http://a/..%2Fx", ".._x"),
        ("http://a/a%5Cb", "a_b"),
        ("http://a/a%00b%0Ac%1B%5B2J", "a_b_c_[2J"),
        ("http://a/%E2%80%AEtxt.exe", "_txt.exe"),
        ("http://a/%C3%A4%20b", "ä b"),
        ("http://a/%D9%85%DB%8C%E2%80%8C%D8%AE", "\u{645}\u{6CC}\u{200C}\u{62E}"),
        ("http://a/%E2%9B%B9%E2%80%8D%E2%99%82.jpg", "\u{26F9}\u{200D}\u{2642}.jpg"),
        ("http://a/%FF", "\u{FFFD}"),
        ("http://a/100%25", "100%"),
        ("http://a/.lanner", "_.lanner"),
        ("http://a/.profile", ".profile"),
    ])
    func namesFiles(_ url: String, _ name: String) throws {
        #expect(try TargetName.suggested(by: #require(URL(string: url))) == name)
    }

    /// As of a list that was made elsewhere, or whose lines end with a zero: they would come to be parts of names.
    @Test(arguments: ["http://a/x\r", "http://a/x\0http://a/y", "http://a/\u{7F}x"])
    func refusesControlCharactersInURLs(_ url: String) {
        let words = "has a control character in it; check the ends of lines"
        let error = #expect(throws: UsageError.self) { try GetPlan(GetOptions(urls: [url])) }
        #expect(error?.message.hasSuffix(words) == true)
    }

    @Test func takesNoMoreMirrorsThanAreUsed() throws {
        let mirrors = (0..<63).map { "http://b/\($0)" }
        #expect(try GetPlan(GetOptions(urls: ["http://a/x"], mirrors: mirrors.dropLast())).items[0].mirrors.count == 62)
        #expect(throws: UsageError("http://a/x has 63 mirrors; give 62 at most")) {
            try GetPlan(GetOptions(urls: ["http://a/x"], mirrors: mirrors))
        }
    }

    /// As on a memory card.
    @Test func findsWhatIsOneNameWhereCaseIsIgnored() throws {
        #expect(try GetPlan(GetOptions(urls: ["http://a/x", "http://a/y"])).clashIgnoringCase() == nil)
        let twins = try GetPlan(GetOptions(urls: ["http://a/README", "http://a/readme"])).clashIgnoringCase()
        #expect(twins?.hasPrefix("http://a/README and http://a/readme would both be saved as “readme”") == true)
        let state = try GetPlan(GetOptions(urls: ["http://a/.Lanner"])).clashIgnoringCase()
        #expect(state?.hasPrefix("the state of the downloads and http://a/.Lanner") == true)
    }

    /// One character of hundreds of marks.
    @Test(arguments: ["", ".txt", ".lanner"]) func shortensANameThatIsOneLongCharacter(suffix: String) {
        let name = TargetName.sanitized("a" + String(repeating: "\u{301}", count: 200) + suffix)
        #expect((200...255).contains(name.utf8.count))
        #expect(name.unicodeScalars.first == "a" && name.hasSuffix(suffix))
    }

    @Test func shortensNamesAndKeepsTheirExtension() {
        let long = TargetName.sanitized(String(repeating: "ä", count: 200) + ".tar.gz")
        #expect(long.utf8.count <= 255)
        #expect(long.utf8.count >= 253)
        #expect(long.hasSuffix("ä.tar.gz"))
        #expect(TargetName.sanitized(String(repeating: "x", count: 300)).utf8.count == 255)
        #expect(TargetName.sanitized("x." + String(repeating: "y", count: 300)).utf8.count == 255)
    }

    @Test(
        arguments: [
            (nil, nil, ".", "x", "x"),
            (nil, "d", "d", "x", "d/x"),
            (nil, "d/", "d/", "x", "d/x"),
            ("y", nil, ".", "y", "y"),
            ("y", "d", "d", "y", "d/y"),
            ("e/y", nil, "e", "y", "e/y"),
            ("e/y", "d", "d/e", "y", "d/e/y"),
            ("/e/y", "d", "/e", "y", "/e/y"),
            ("/y", nil, "/", "y", "/y"),
            ("/e/\u{301}y", nil, "/e", "\u{301}y", "/e/\u{301}y"),
            ("\u{301}e/y", "d", "d/\u{301}e", "y", "d/\u{301}e/y"),
        ] as [(String?, String?, String, String, String)])
    func choosesThePlace(
        _ output: String?, _ given: String?, _ directory: String, _ name: String, _ path: String
    ) throws {
        let plan = try GetPlan(GetOptions(urls: ["http://a/x"], output: output, directory: given))
        #expect(plan.directory == directory)
        #expect(plan.items.map(\.name) == [name])
        #expect(plan.items.map(\.path) == [path])
    }

    @Test(arguments: [
        (
            ["http://a/x", "http://b/x"],
            "http://a/x and http://b/x would both be saved as “x”; name one by out=NAME in a list (-i), "
                + "or by -o in a call of its own"
        ),
        (["http://a/x", "http://a/x"], "http://a/x is given twice; leave one out"),
        (["http://a", "http://a/"], "http://a/ is given twice; leave one out"),
        (["http://a/x", "HTTP://a/x"], "http://a/x is given twice; leave one out"),
        (["http://a/x", "http://a/x#y"], "http://a/x is given twice; leave one out"),
        (
            ["ftp://a/x"],
            "the URL “ftp://a/x” has the scheme “ftp”; only http and https can be downloaded"
        ),
        (["x"], "the URL “x” has no scheme; begin it with https:// or http://"),
        (["host:8080/x"], "the URL “host:8080/x” has no scheme; begin it with https:// or http://"),
        (["http://"], "the URL “http://” has no host"),
        (["http://a:99999/"], "the URL “http://a:99999/” has a port that is not a number from 1 to 65535"),
        ([""], "“” is no URL; write one as https://example.com/file"),
        (
            ["http://a%3Ab:c@host/x"],
            "http://host/x: The user name in the URL has a colon, which Basic authentication cannot carry"
        ),
        (
            ["http://a/x", "http://a%3Ab:c@host/x"],
            "http://host/x: The user name in the URL has a colon, which Basic authentication cannot carry"
        ),
    ])
    func refuses(_ urls: [String], _ message: String) {
        #expect(throws: UsageError(message)) { try GetPlan(GetOptions(urls: urls)) }
    }

    @Test func saysHowToSaveInADirectory() {
        let message = "-o needs the name of a file, and “a\\0/” is a directory; give that with -d"
        #expect(throws: UsageError(message)) { try GetPlan(GetOptions(urls: ["http://a/x"], output: "a\0/")) }
        #expect(throws: UsageError("-o needs the name of a file")) {
            try GetPlan(GetOptions(urls: ["http://a/x"], output: ""))
        }
    }

    @Test func refusesMirrorsAsItDoesURLs() throws {
        let (url, mirror) = ("http://a/x", "http://a%3Ab:c@host/x")
        let message = "http://host/x: The user name in the URL has a colon, which Basic authentication cannot carry"
        #expect(throws: UsageError(message)) { try GetPlan(GetOptions(urls: [url], mirrors: [mirror])) }
        #expect(throws: UsageError("list:3: " + message)) {
            try InputFile.parse("\(url)\n  mirror=http://b/x\n  mirror=\(mirror)", file: "list")
        }
    }

    @Test(arguments: [
        "user:secret@host/f", "http://user:se/cret@host/f", "http:/user:secret@host/f", "http:///user:secret@host/f",
        "http://user:secret@ho st/f", "http://user:secret@host:99999/f", "http://user:secret@ho%00st/f",
    ])
    func showsNoPassword(_ url: String) throws {
        let error = try #require(throws: UsageError.self) { try GetPlan(GetOptions(urls: [url])) }
        #expect(!error.message.contains("cret") && !error.message.contains("user:"))
    }

    #if !canImport(Darwin)
    @Test func namesThatOnlyLookTheSameAreTwo() throws {
        let plan = try GetPlan(GetOptions(urls: ["http://h/caf%C3%A9", "http://h/cafe%CC%81"]))
        #expect(plan.items.map { Array($0.name.utf8).count } == [5, 6])
    }
    #endif

    @Test func refusesADirectoryWithoutAName() {
        #expect(throws: UsageError("-d needs the name of a directory")) {
            try GetPlan(GetOptions(urls: ["http://a/x"], directory: ""))
        }
    }

    @Test(arguments: ["-", "", "d/", "..", "d/.."]) func refusesOutputs(_ output: String) {
        #expect(throws: UsageError.self) { try GetPlan(GetOptions(urls: ["http://a/x"], output: output)) }
    }

    @Test func namesThePlaceInAList() {
        let list = [InputFile.Entry(url: "gopher://a", place: "list:7")]
        let error = #expect(throws: UsageError.self) { try GetPlan(GetOptions(inputFile: "list"), list) }
        #expect(error?.message.hasPrefix("list:7: the URL “gopher://a”") == true)
        #expect(throws: UsageError("there is no URL in the list")) { try GetPlan(GetOptions(inputFile: "list"), []) }
    }

    @Test func namesThePlaceOfATwin() {
        func list(_ one: String, _ other: String) -> [InputFile.Entry] {
            [InputFile.Entry(url: one, place: "list:1"), InputFile.Entry(url: other, place: "list:4")]
        }
        let names =
            "list:4: http://a/x and http://b/x would both be saved as “x”; name one by out=NAME in a list (-i), "
            + "or by -o in a call of its own"
        #expect(throws: UsageError(names)) {
            try GetPlan(GetOptions(inputFile: "list"), list("http://a/x", "http://b/x"))
        }
        #expect(throws: UsageError("list:4: http://a/x is given twice; leave one out")) {
            try GetPlan(GetOptions(inputFile: "list"), list("http://a/x", "http://a/x"))
        }
        #expect(throws: UsageError("list:1: http://a/x is given twice; leave one out")) {
            try GetPlan(GetOptions(urls: ["http://a/x"], inputFile: "list"), list("http://a/x", "http://a/y"))
        }
    }

    @Test func namesAllOfAListAtOnce() {
        func lines(_ urls: String...) -> [Substring]? {
            let list = urls.enumerated().map { InputFile.Entry(url: $1, place: "list:\($0 + 1)") }
            let error = #expect(throws: UsageError.self) { try GetPlan(GetOptions(inputFile: "list"), list) }
            return error?.message.split(separator: "\n").map { $0.prefix(7) }
        }
        #expect(lines("http://a/x", "gopher://a", "http://a/y", "nope") == ["list:2:", "list:4:"])
        #expect(lines("http://a/x", "http://b/x", "http://a/y", "http://a/x") == ["list:2:", "list:4:"])
    }

    /// Characters that a URL may not have are encoded, and what is encoded by then is not once more.
    @Test func keepsEscapes() throws {
        let (given, url) = ("http://a/a%20b[1].txt?t=%2B|", "http://a/a%20b%5B1%5D.txt?t=%2B%7C")
        let options = GetOptions(urls: [given], mirrors: ["http://b/%20{x}"])
        let list = try InputFile.parse("http://a/%C3%A4ö\n  mirror=http://b/%C3%A4^", file: "list")
        let items = try GetPlan(options, list).items
        #expect(items.map(\.url.absoluteString) == [url, "http://a/%C3%A4%C3%B6"])
        #expect(items.map(\.shownURL) == items.map(\.url.absoluteString))
        #expect(items.map(\.name) == ["a b[1].txt", "äö"])
        #expect(items.flatMap(\.mirrors).map(\.absoluteString) == ["http://b/%20%7Bx%7D", "http://b/%C3%A4%5E"])
    }

    @Test func showsNoPasswords() throws {
        let plan = try GetPlan(GetOptions(urls: ["http://me:secret@a/x"]))
        #expect(plan.items.map(\.shownURL) == ["http://a/x"])
        #expect(plan.items.map(\.url.absoluteString) == ["http://me:secret@a/x"])
        let error = #expect(throws: UsageError.self) { try GetPlan(GetOptions(urls: ["ftp://me:secret@a/x"])) }
        #expect(error?.message.contains("secret") == false)
    }
}
