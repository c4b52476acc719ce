import Foundation
import LannerMachine
import Testing

@Suite struct Base64Tests {
    /// RFC 4648, 10.
    @Test(arguments: [
        ("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob"), ("Zm9vYmE=", "fooba"),
        ("Zm9vYmFy", "foobar"),
    ])
    func readsWhatTheRFCWrites(_ text: String, _ bytes: String) {
        #expect(Base64.decode(text.utf8) == Array(bytes.utf8))
    }

    @Test func readsAllBytes() {
        for count in 0...255 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(Base64.decode(Data(bytes).base64EncodedString().utf8) == bytes)
        }
        #expect(Base64.decode("+/+/".utf8) == [0xFB, 0xFF, 0xBF])
    }

    /// RFC 9651, 4.2.7.
    @Test(arguments: [("Zg", "f"), ("Zm8", "fo"), ("Zm9vYg", "foob"), ("Zh==", "f"), ("Zm9=", "fo")])
    func needsNoPaddingAndNoZeros(_ text: String, _ bytes: String) {
        #expect(Base64.decode(text.utf8) == Array(bytes.utf8))
    }

    @Test(arguments: [
        "Z", "Z===", "Zg=", "Zg===", "=", "====", "Zm9vY", "Zm9v=", "Zg==Zg==", "Z g=", "Zg==\n", "-_-_", "Zm9vé",
        "Zm=v",
    ])
    func refusesTheRest(_ text: String) {
        #expect(Base64.decode(text.utf8) == nil)
    }
}

@Suite struct ByteDictionaryTests {
    private func read(_ lines: String...) -> [String: String]? {
        ByteDictionary(lines)?.values.mapValues { String(decoding: $0, as: UTF8.self) }
    }

    @Test func readsByteSequences() {
        #expect(read("a=:Zm9v:") == ["a": "foo"])
        #expect(read("  a=:Zm9v:,b=:Zg==: \t,\t *c-d_e.f*=::  ") == ["a": "foo", "b": "f", "*c-d_e.f*": ""])
        #expect(read("a=:Zm9v:", "b=:Zg:") == ["a": "foo", "b": "f"])
        #expect(read("") == [:] && read() == [:])
    }

    @Test func ofOneKeyTheLastCounts() {
        #expect(read("a=:Zm9v:, a=:Zg==:") == ["a": "f"])
        #expect(read("a=:Zm9v:, a=1") == [:])
    }

    @Test(arguments: [
        "1", "-1", "999999999999999", "1.0", "-123456789012.123", "\"\"", "\"a\\\"b\\\\ ,;\"", "token", "*t/o:k!#e~n",
        "?0", "?1", "@1659578233", "@-1", "%\"a%c3%a9 b\"", "()", "( )", "(1 2)", "( :Zg==:  \"a b\";x=1;y a )",
        "(a;b c);d", "1;a=2;b;c=:Zg==:",
    ])
    func passesOverOtherTypes(_ item: String) {
        #expect(read("a=\(item), b=:Zg==:") == ["b": "f"])
        #expect(read("a=:Zg==:;p=\(item.hasPrefix("(") ? "1" : item)") == ["a": "f"])
    }

    @Test func passesOverFlagsAndParameters() {
        #expect(read("a, b;c;d=?0, e=:Zg==:; f=1;g=\"x,y\"") == ["e": "f"])
    }

    @Test(arguments: [
        "a=", "a=,", "a=:Zg==:,", ",a", "a,,b", "A=1", "1=1", "=1", "a =1", "a= 1", "a=:Zg==", "a=:Z:", "a=:Z g=:",
        "a=:Zg==:b=1", "a=:Zg==: b", "a=1 2", "a=-", "a=1.", "a=1.2345", "a=1234567890123.1", "a=1000000000000000",
        "a=.5", "a=+1", "a=?2", "a=?", "a=@1.5", "a=@", "a=\"", "a=\"\\n\"", "a=\"é\"", "a=\"\u{7F}\"", "a=%\"%C3%A9\"",
        "a=%\"%ff\"", "a=%\"%4\"", "a=%x", "a=(", "a=(1", "a=(1,2)", "a=(1\t2)", "a=(1 2", "a=((1))", "a;", "a;B",
        "a;b=",
        "a=1;", "a=é", "a=:Zg==:\r\n", "a\0", "a=tok(en",
    ])
    func oneFaultSpoilsTheField(_ text: String) {
        #expect(ByteDictionary([text]) == nil)
        #expect(ByteDictionary(["b=:Zg==:", text]) == nil)
    }

    @Test func isBounded() {
        let fit = "a=\"" + String(repeating: "x", count: ByteDictionary.longest - 4) + "\""
        #expect(ByteDictionary([fit]) != nil)
        #expect(ByteDictionary([fit + " "]) == nil)
        #expect(ByteDictionary([String(repeating: "(", count: ByteDictionary.longest)]) == nil)
    }
}

@Suite struct ServerDigestTests {
    private static func field(_ key: String, _ count: Int, _ byte: UInt8 = 7) -> String {
        "\(key)=:\(Data(repeating: byte, count: count).base64EncodedString()):"
    }

    private static func head(_ status: Int, _ fields: HeaderFields) -> ResponseHead {
        ResponseHead(status: status, fields: fields)
    }

    private static func head(_ fields: HeaderFields) -> ResponseHead { head(200, fields) }

    @Test(
        arguments: [("sha-256", .sha256, 32), ("sha-512", .sha512, 64), ("sha", .sha1, 20), ("md5", .md5, 16)]
            as [(String, ServerDigest.Algorithm, Int)])
    func readsWhatIsRegistered(_ key: String, _ algorithm: ServerDigest.Algorithm, _ count: Int) {
        for status in [200, 206] {
            let head = Self.head(status, ["repr-digest": Self.field(key, count)])
            #expect(ServerDigest(head) == ServerDigest(algorithm, [UInt8](repeating: 7, count: count)))
            #expect(ServerDigest.malformedField(head) == nil)
        }
    }

    @Test func takesTheFastestOfTheStrongest() {
        let all = [("md5", 16), ("sha", 20), ("sha-512", 64), ("sha-256", 32)].map { Self.field($0.0, $0.1) }
        for count in 1...4 {
            let head = Self.head(["Repr-Digest": all.prefix(count).joined(separator: ", "), "Content-MD5": "no"])
            #expect(ServerDigest(head)?.algorithm == [.md5, .sha1, .sha512, .sha256][count - 1])
        }
    }

    @Test(arguments: [
        "adler=:AAAAAA==:", "unixsum=:AAAA:, crc32c=:AAAAAA==:", "id-sha-256=1", "SHA-256=x", "sha-256=1", "",
    ])
    func ignoresWhatNobodyKnows(_ value: String) {
        #expect(ServerDigest(Self.head(["Repr-Digest": value])) == nil)
        // Then the older field counts.
        let both = Self.head(["Repr-Digest": value, "Content-MD5": "BwcHBwcHBwcHBwcHBwcHBw=="])
        #expect(ServerDigest(both)?.algorithm == .md5)
    }

    @Test func aDigestOfTheWrongLengthIsMalformed() {
        let head = Self.head(["Repr-Digest": Self.field("sha-256", 31) + "," + Self.field("md5", 16)])
        #expect(ServerDigest(head)?.algorithm == .md5)
        #expect(ServerDigest.malformedField(head) == "Repr-Digest")
        #expect(ServerDigest(.sha256, []) == nil)
    }

    @Test func saysWhatIsMalformed() {
        #expect(ServerDigest.malformedField(Self.head(["Repr-Digest": "sha-256=:AAA"])) == "Repr-Digest")
        #expect(ServerDigest.malformedField(Self.head(["Content-MD5": "AAA"])) == "Content-MD5")
        #expect(ServerDigest.malformedField(Self.head(206, ["Content-MD5": "AAA"])) == nil)
        #expect(ServerDigest.malformedField(Self.head(404, ["Repr-Digest": "?"])) == nil)
        #expect(ServerDigest.malformedField(Self.head(["Repr-Digest": "adler=:AAAAAA==:"])) == nil)
        #expect(ServerDigest.malformedField(Self.head([:])) == nil)
    }

    /// RFC 1864; RFC 2616, 14.15.
    @Test func contentMD5SpeaksOfTheBody() {
        let value = "Q2hlY2sgSW50ZWdyaXR5IQ=="
        let digest = ServerDigest(.md5, Array("Check Integrity!".utf8))
        #expect(ServerDigest(Self.head(["content-md5": " \(value) "])) == digest)
        #expect(ServerDigest(Self.head(206, ["Content-MD5": value])) == nil)
        #expect(ServerDigest(Self.head(["Content-MD5": value, "content-md5": value])) == digest)
        #expect(ServerDigest(Self.head(["Content-MD5": value, "content-md5": "BwcHBwcHBwcHBwcHBwcHBw=="])) == nil)
    }

    @Test(arguments: [203, 404, 416, 500]) func otherAnswersAreNoFile(_ status: Int) {
        #expect(ServerDigest(Self.head(status, ["Repr-Digest": Self.field("sha-256", 32)])) == nil)
    }

    @Test func anEncodedFileIsNotCompared() {
        let fields: HeaderFields = ["Repr-Digest": Self.field("sha-256", 32), "Content-Encoding": "gzip"]
        #expect(ServerDigest(Self.head(fields)) == nil)
    }
}
