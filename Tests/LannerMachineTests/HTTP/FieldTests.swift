import LannerMachine
import Testing

@Suite struct EntityTagTests {
    @Test(arguments: ["\"abc\"", "\"\"", "W/\"abc\"", "\"a,b/c!#\"", "\"5d8c72a5edda8d6a:0\"", "\"W/\""])
    func keepsItsExactText(_ text: String) throws {
        let tag = try #require(EntityTag(text))
        #expect(tag.text == text)
        #expect(tag.isWeak == text.hasPrefix("W/"))
        #expect(EntityTag(" \t\(text)\t ")?.text == text)
    }

    @Test(arguments: [
        "", "abc", "\"", "\"abc", "abc\"", "w/\"abc\"", "W/abc", "W/", "W/\"", "W/ \"a\"", "*", "\"a\"b\"", "\"a b\"",
        "\"a\r\nb\"", "\"a\0\"", "\"é\"", "\"a\", \"a\"", "\"\u{7F}\"",
        "\"" + String(repeating: "a", count: 1023) + "\"",
    ])
    func isOnlyOneTagOfVisibleCharacters(_ text: String) {
        #expect(EntityTag(text) == nil)
    }

    /// RFC 9110, 8.8.3.2.
    @Test(arguments: [
        ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false), ("W/\"1\"", "\"1\"", false, true),
        ("\"1\"", "W/\"1\"", false, true), ("\"1\"", "\"1\"", true, true), ("\"1\"", "\"2\"", false, false),
        ("\"a\"", "\"A\"", false, false),
    ])
    func comparesStronglyAndWeakly(_ left: String, _ right: String, _ strong: Bool, _ weak: Bool) throws {
        let (left, right) = (try #require(EntityTag(left)), try #require(EntityTag(right)))
        #expect(left.isSameBytes(as: right) == strong)
        #expect(left.isEquivalent(to: right) == weak)
    }

    /// It is the same for every version.
    @Test(arguments: ["\"\"", "W/\"\""]) func aTagWithoutACharacterIsNoValidator(_ text: String) {
        #expect(EntityTag(fields: ["ETag": text]) == nil)
    }

    @Test func contradictingLinesAreNoTag() {
        #expect(EntityTag(fields: ["ETag": "\"a\"", "etag": "\"a\""])?.text == "\"a\"")
        #expect(EntityTag(fields: ["ETag": "\"a\"", "etag": "\"b\""]) == nil)
        #expect(EntityTag(fields: [:]) == nil)
    }
}

@Suite struct ContentRangeTests {
    static let most = Int64.max

    @Test(
        arguments: [
            ("bytes 0-0/1", 0..<1, 1), ("bytes 0-499/1234", 0..<500, 1234), ("Bytes 500-1233/1234", 500..<1234, 1234),
            ("bytes 7-9/*", 7..<10, nil), ("  bytes   7-9/10 ", 7..<10, 10), ("bytes 007-09/010", 7..<10, 10),
            ("bytes 0-9223372036854775806/9223372036854775807", 0..<most, most),
        ] as [(String, Range<Int64>, Int64?)])
    func readsAPart(_ text: String, _ range: Range<Int64>, _ total: Int64?) {
        #expect(ContentRange(text) == .part(range, total: total))
        #expect(ContentRange(text)?.total == total)
    }

    @Test(arguments: [("bytes */0", 0), ("bytes */1234", 1234), ("BYTES */9223372036854775807", most)])
    func readsTheSizeThatWasNotSatisfied(_ text: String, _ total: Int64) {
        #expect(ContentRange(text) == .unsatisfied(total: total))
        #expect(ContentRange(text)?.total == total)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "items 0-1/2", "posts 0-1/2", "bytes 0-1", "bytes 0-1/",
        "bytes /2", "bytes /0-1/2", "bytes==0-1/2", "bytes=:0-1/2", "byte 0-1/2",
        "=0-1/2", "bytes 0-1/2;;", "bytes 0-1;/2",
        "bytes 1-0/2", "bytes 0-2/2", "bytes 0-1/0", "bytes -1/2", "bytes 0-/2", "bytes -0-1/2", "bytes 0--1/2",
        "bytes */*", "bytes *", "bytes 0-1/2/3", "bytes 0-1/-2", "bytes +0-1/2", "bytes 0x0-1/2", "bytes 0 - 1/2",
        "bytes 0-9223372036854775807/*", "bytes 0-1/9223372036854775808", "bytes 99999999999999999999-1/2",
        "bytes 0-99999999999999999999/*", "bytes ٠-١/٢", "bytes 0-1/2, bytes 0-1/3", "bytes 0-1/2,", "bytes 0-1/2\r\n",
    ])
    func isNothingElse(_ text: String) {
        #expect(ContentRange(fields: ["Content-Range": text]) == nil)
    }

    /// What servers write that mean the same.
    @Test(arguments: [
        "bytes=0-1/2", "bytes: 0-1/2", "bytes : 0-1/2", "bytes\t0-1/2", "0-1/2", "bytes 0-1/2;", "bytes 0-1/2 ;",
    ])
    func readsItsDialects(_ text: String) {
        #expect(ContentRange(fields: ["Content-Range": text]) == .part(0..<2, total: 2))
    }

    @Test func sameLinesCountOnceAndContradictingOnesNot() {
        let part = ContentRange.part(0..<2, total: 9)
        #expect(ContentRange(fields: ["Content-Range": "bytes 0-1/9", "content-range": "bytes 0-1/9"]) == part)
        #expect(ContentRange(fields: ["Content-Range": "bytes 0-1/9, bytes 0-1/9"]) == part)
        #expect(ContentRange(fields: ["Content-Range": "bytes 0-1/9", "content-range": "bytes 0-1/8"]) == nil)
        #expect(ContentRange(fields: ["Content-Range": "bytes 0-1/9", "content-range": "nonsense"]) == nil)
        #expect(ContentRange(fields: [:]) == nil)
    }
}

@Suite struct ContentLengthTests {
    @Test(
        arguments: [
            ([], .unknown), (["0"], .bytes(0)), ([" 42 "], .bytes(42)), (["42", "42"], .bytes(42)),
            (["42, 42"], .bytes(42)),
            (["042", "42"], .bytes(42)), (["9223372036854775807"], .bytes(.max)),
            (["9223372036854775808"], .contradictory),
            ([""], .contradictory), (["-1"], .contradictory), (["+1"], .contradictory), (["1", "2"], .contradictory),
            (["1, 2"], .contradictory), (["1,"], .contradictory), (["1.0"], .contradictory), (["0x1"], .contradictory),
            (["1 2"], .contradictory), (["٣"], .contradictory), (["1\u{0}"], .contradictory),
        ] as [([String], ContentLength)])
    func isOneNumberOrNone(_ lines: [String], _ length: ContentLength) {
        let fields = HeaderFields(lines.map { .init(name: "content-length", value: $0) })
        #expect(ContentLength(fields: fields) == length)
    }

    @Test func isOverruledByATransferCoding() {
        #expect(ContentLength(fields: ["Content-Length": "5", "Transfer-Encoding": "chunked"]) == .unknown)
        #expect(ContentLength(fields: ["Content-Length": "5", "Transfer-Encoding": "identity"]) == .bytes(5))
    }

    @Test(arguments: [
        ([], false), (["identity"], false), (["Identity"], false), ([""], false), (["identity, identity"], false),
        (["gzip"], true), (["identity", "gzip"], true), (["x-unheard-of"], true), (["identity, br"], true),
        (["none"], false), (["aws-chunked"], false), (["aws-chunked, gzip"], true),
    ])
    func anyCodingButIdentityEncodes(_ lines: [String], _ isEncoded: Bool) {
        let fields = HeaderFields(lines.map { .init(name: "Content-Encoding", value: $0) })
        #expect(fields.isContentCoded == isEncoded)
    }
}
