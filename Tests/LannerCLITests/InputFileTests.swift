import Foundation
import Lanner
import Testing

@testable import LannerCLI

@Suite struct InputFileTests {
    @Test func readsURLsWithWhatStandsBelowThem() throws {
        let hex = String(repeating: "0", count: 32)
        let text = """
            # a comment

            http://a/1
              out=one.bin
            \tchecksum=md5:\(hex)
              mirror=http://d/1
              mirror=http://e/1?f=g
              # another

            https://b/2?x=y
            http://c/3
             out=a=b
             priority=very-high
            """
        let entries = try InputFile.parse(text, file: "list")
        #expect(
            try entries == [
                .init(
                    url: "http://a/1", place: "list:3", name: "one.bin",
                    checksum: Checksum.Digest(parsing: "md5:" + hex),
                    mirrors: ["http://d/1", "http://e/1?f=g"].compactMap { URL(string: $0) }),
                .init(url: "https://b/2?x=y", place: "list:10"),
                .init(url: "http://c/3", place: "list:11", name: "a=b", priority: .veryHigh),
            ])
    }

    /// A mark that makes one character of the one before it.
    @Test func readsByBytes() throws {
        let entries = try InputFile.parse("#\u{301} comment\nhttp://a/1\n out=\u{301}x\n", file: "f")
        #expect(entries == [.init(url: "http://a/1", place: "f:2", name: "\u{301}x")])
    }

    /// Other spaces than those of ASCII are part of a name.
    @Test func keepsTheSpacesOfAName() throws {
        let entries = try InputFile.parse("http://a/1\n  out=\u{3000}x\u{A0} \t\n", file: "f")
        #expect(entries == [.init(url: "http://a/1", place: "f:1", name: "\u{3000}x\u{A0}")])
    }

    @Test func acceptsOtherLineEndsAndAMark() throws {
        let entries = try InputFile.parse("\u{FEFF}http://a/1\r\n  out=x\r\n\r\nhttp://b/2 \t", file: "f")
        #expect(entries == [.init(url: "http://a/1", place: "f:1", name: "x"), .init(url: "http://b/2", place: "f:4")])
        #expect(try InputFile.parse("", file: "f").isEmpty)
    }

    @Test(arguments: [
        ("  out=x", "f:1: an indented line belongs below a URL"),
        ("http://a/1 http://b/2", "f:1: one URL a line; write a space in a URL as %20"),
        ("\nhttp://a/1\n  dir=x", "f:3: “dir=x” is none of out=NAME, checksum=ALGO:HEX, mirror=URL and priority=P"),
        ("http://a/1\n  out", "f:2: “out” is none of out=NAME, checksum=ALGO:HEX, mirror=URL and priority=P"),
        (
            "http://a/1\n  http://me:secret@b/2",
            "f:2: “http://b/2” is none of out=NAME, checksum=ALGO:HEX, mirror=URL and priority=P"
        ),
        ("http://a/1\n  out=", "f:2: “” is no file name; choose another"),
        ("http://a/1\n  out=a/b", "f:2: “a/b” is no file name; give one without a directory"),
        ("http://a/1\n  out=..", "f:2: “..” is no file name; choose another"),
        ("http://a/1\n  out=.lanner", "f:2: “.lanner” is taken; choose another name"),
        (
            "http://a/1\n  mirror=http://b/1\n  mirror=nope",
            "f:3: the URL “nope” has no scheme; begin it with https:// or http://"
        ),
        ("http://a/1\n  out=a\n  out=b", "f:3: out= is given twice"),
        ("http://a/1\n  priority=low\n  priority=low", "f:3: priority= is given twice"),
        ("http://a/1\n  priority=", "f:2: there is no priority “”; there are very-low, low, normal, high, very-high"),
        (
            "http://a/1\n  checksum=md5:\(String(repeating: "0", count: 32))\n"
                + " checksum=md5:\(String(repeating: "0", count: 32))", "f:3: checksum= is given twice"
        ),
    ])
    func refuses(_ text: String, _ message: String) {
        #expect(throws: UsageError(message)) { try InputFile.parse(text, file: "f") }
    }

    /// What stands below a URL that cannot be read is not the last one's.
    @Test func tellsOfAllLinesAtOnce() {
        let text = "http://a/1\n  out=a\nhttp://a/2 x\n  out=b\n  checksum\nhttp://a/3\n  priority=top\n"
        let error = #expect(throws: UsageError.self) { try InputFile.parse(text, file: "f") }
        #expect(error?.message.split(separator: "\n").map { $0.prefix(4) } == ["f:3:", "f:5:", "f:7:"])
    }

    @Test func tellsNoMoreThanAnybodyReads() {
        let text = String(repeating: "http://a/1\n  out=a/b\n", count: 29)
        let error = #expect(throws: UsageError.self) { try InputFile.parse(text, file: "f") }
        let lines = error?.message.split(separator: "\n") ?? []
        #expect(lines.count == 21 && lines.last == "and 9 more of the kind")
    }

    @Test func tellsTheLineOfABadChecksum() {
        let error = #expect(throws: UsageError.self) {
            try InputFile.parse("http://a/1\n  checksum=md5:00", file: "f")
        }
        #expect(error?.message.hasPrefix("f:2: ") == true)
    }
}
