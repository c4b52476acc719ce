import Foundation
import Testing

@testable import LannerCore

@Suite("N-10: safe names") struct SafeNameTests {
    @Test(arguments: [
        // As they are.
        ("report.pdf", "report.pdf"), ("Ünïcödé 日本語.txt", "Ünïcödé 日本語.txt"), ("a..b", "a..b"), ("100%", "100%"),
        ("👩‍👩‍👧.png", "👩‍👩‍👧.png"), ("می‌خواهم", "می‌خواهم"),
        // Composed.
        ("e\u{301}.txt", "\u{E9}.txt"), ("\u{212B}", "\u{C5}"), ("e\u{200B}\u{301}", "\u{E9}"),
        // What is not seen.
        ("a\0b\u{1B}[31m\u{7F}\u{85}\r\n\t", "ab[31m"), ("gpj\u{202E}exe.txt\u{202C}", "gpjexe.txt"),
        ("\u{2066}a\u{2069}\u{200F}\u{61C}\u{FEFF}b\u{AD}", "ab"), ("a\u{2028}b\u{2029}\u{FFFE}\u{1FFFF}", "ab"),
        // Separators and what FAT does not take.
        ("a/b", "a_b"), ("..\\..\\x", "_.._x"), ("../../etc/passwd", "_.._etc_passwd"), ("/abs", "_abs"),
        ("C:\\dir\\f", "C__dir_f"), ("a:*?\"<>|b", "a_______b"), ("a/\u{338}b", "a_\u{338}b"),
        // Ends.
        (".hidden", "hidden"), ("...", nil), (" . a . ", "a"), ("a.txt. . ", "a.txt"), ("\u{3000}a\u{A0}", "a"),
        ("", nil), (".", nil), ("..", nil), ("\u{202E}", nil), ("   ", nil),
    ])
    func areMadeOfAnyText(_ text: String, _ name: String?) {
        #expect(FileName.safe(text).map { Array($0.unicodeScalars) } == name.map { Array($0.unicodeScalars) })
    }

    @Test(arguments: [
        "CON", "con.txt", "Aux.tar.gz", "NUL", "prn .x", "COM1", "com9.log", "LPT¹", "lpt0.a.b", "CONIN$", "clock$",
        "lock", "LOCK", "manager.lock", "Journal-7", "snapshot-12", "snapshot-12.new", "corrupt-3.bin",
        "1f-2-3.part", "1F-2-3.PART", "CON.\u{301}x",
    ])
    func areNotThoseOfDevicesOrOfTheLibrary(_ text: String) {
        #expect(FileName.safe(text) == "_" + text)
    }

    @Test(arguments: ["console", "com10", "lpt", "a.con", "locks", "journal-x", "snapshot", "1f-2-3.parts", "NULL.txt"])
    func areKeptWhenTheyOnlyLookAlike(_ text: String) {
        #expect(FileName.safe(text) == text)
    }

    @Test func areCutBetweenCharactersAndKeepTheExtension() throws {
        let long = String(repeating: "é", count: 200)
        #expect(FileName.safe(long + ".txt") == String(repeating: "é", count: 125) + ".txt")
        #expect(FileName.safe(long) == String(repeating: "é", count: 127))
        let family = "👨‍👩‍👧‍👦"
        let families = try #require(FileName.safe(String(repeating: family, count: 20) + ".tar.gz"))
        #expect(families == String(repeating: family, count: 9) + ".tar.gz")
        #expect(families.utf8.count <= 255)
        #expect(FileName.safe("a." + String(repeating: "x", count: 300))?.utf8.count == 255)
        // What is behind the cut does not count, what is before it must not end in a space.
        #expect(FileName.safe(String(repeating: "a", count: 254) + "  b") == String(repeating: "a", count: 254))
        // One character that is too long itself.
        let marks = String(repeating: "\u{20D0}", count: 200)
        #expect(FileName.safe("x" + marks)?.utf8.count == 253)
        #expect(FileName.safe("con\(marks).txt")?.hasSuffix(".txt") == true)
    }

    @Test(arguments: [
        ("name.ext", 2, "name 2.ext"), ("name", 3, "name 3"), (".profile", 2, ".profile 2"),
        ("a.tar.gz", 2, "a 2.tar.gz"),
        ("A.TAR.XZ", 2, "A 2.TAR.XZ"), (".tar.gz", 2, ".tar 2.gz"), ("a.", 2, "a 2."), ("é.b c", 10, "é 10.b c"),
    ])
    func areNumbered(_ name: String, _ number: Int, _ other: String) {
        #expect(FileName.numbered(name, number) == other)
    }

    @Test func areNumberedWithinTheLimit() {
        let name = String(repeating: "é", count: 125) + ".txt"
        #expect(FileName.numbered(name, 12) == String(repeating: "é", count: 124) + " 12.txt")
    }

    @Test(
        "T1-04, N-10: the last component of a path",
        arguments: [
            ("https://a.example/dir/file.bin?x=y.z#f", "file.bin"), ("https://a.example/dir/", "dir"),
            ("https://a.example/", nil), ("https://a.example", nil), ("https://a.example/a%2Fb", "a_b"),
            ("https://a.example/%2e%2e%2f", "_"), ("https://a.example/caf%C3%A9%20x", "café x"),
            ("https://a.example/%FF%00", "%FF%00"), ("https://a.example/..", nil),
        ]) func comeFromPaths(_ url: String, _ name: String?) throws
    {
        #expect(FileName.lastComponent(of: try #require(URL(string: url))) == name)
    }
}
