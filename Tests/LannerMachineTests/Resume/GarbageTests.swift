import LannerMachine
import Testing

/// Heads put together at random from words that mean something to the parsers: whatever comes of it, nothing traps, and a
/// verdict promises nothing that was not asked for.
@Suite struct GarbageTests {
    static let names = [
        "ETag", "etag", "Last-Modified", "Date", "Content-Range", "Content-Length", "Content-Encoding", "Content-Type",
        "Transfer-Encoding", "Retry-After", "Location",
    ]
    static let words = [
        "\"a\"", "W/\"a\"", "bytes 400-999/1000", "bytes 400-449/1000", "bytes */400", "bytes */1000", "\"", "W/",
        "bytes ", "bytes", "*", "/", "-", "0", "1", "399", "400", "499", "999", "1000",
        "9223372036854775807", "9223372036854775808", "99999999999999999999", "0-", "400-999/1000", "*/400", ",", ", ",
        " ",
        "\t", "\r\n", "\0", "é", "\u{301}", "🕰", "gzip", "identity", "chunked", "multipart/byteranges", ";", "GMT",
        Heads.date, Heads.dayBefore, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "bytes 400-999/1000",
        "bytes */400", "bytes 400-499/*", "+1", "-1", "٣", "",
    ]
    static let statuses = [200, 203, 204, 206, 206, 206, 301, 304, 412, 416, 416, 503, 0, -7, Int.max]

    static let bases = [
        Heads.whole(), Heads.part(400..<1000), Heads.status(416, ["Content-Range": "bytes */400"]), Heads.status(301),
    ]

    static func head(_ generator: inout SeededGenerator) -> ResponseHead {
        // Most begin as a good one.
        var head = bases.randomElement(using: &generator) ?? Heads.whole()
        if Bool.random(using: &generator) { head.status = statuses.randomElement(using: &generator) ?? 200 }
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            let count = [1, 1, 2, 3].randomElement(using: &generator) ?? 1
            let value = (0..<count).compactMap { _ in words.randomElement(using: &generator) }
            head.fields.append(names.randomElement(using: &generator) ?? "ETag", value.joined())
        }
        return head
    }

    static func ask(_ generator: inout SeededGenerator) -> Ask {
        let first = ([0, 1, 399, 400, 400, 400] as [Int64]).randomElement(using: &generator) ?? 0
        let end = ([400, 500, 1000, .max] as [Int64]).randomElement(using: &generator) ?? 0
        return Ask.next(
            range: first..<end, isOpenEnded: .random(using: &generator),
            held: [nil, Version(Heads.whole()), Version(Heads.whole(length: nil)), Version(head(&generator))]
                .randomElement(using: &generator) ?? nil,
            from: Rung.allCases.randomElement(using: &generator) ?? .strongTag, hasDigest: .random(using: &generator))
            ?? .whole
    }

    @Test(arguments: 0..<40)
    func nothingTraps(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<100 {
            let (head, ask) = (Self.head(&generator), Self.ask(&generator))
            let held = ([0, 400, 1000, .max] as [Int64]).randomElement(using: &generator) ?? 0
            let wall = ([0, 784_111_777, .min, .max] as [Int64]).randomElement(using: &generator) ?? 0
            check(judge(head, for: ask, prefix: held, wallSeconds: wall), of: head, for: ask, held: held)
        }
    }

    /// The garbage is good enough to reach every verdict.
    @Test func everyVerdictIsReached() {
        var generator = SeededGenerator(seed: 5)
        var kinds: Set<String> = []
        for _ in 0..<2000 {
            let (head, ask) = (Self.head(&generator), Self.ask(&generator))
            let verdict = judge(head, for: ask, prefix: 400, wallSeconds: 0)
            kinds.insert(String(String(describing: verdict).prefix { $0 != "(" }))
        }
        #expect(kinds == ["part", "whole", "restart", "fromZero", "complete", "unusable", "redirect", "refused"])
    }

    private func check(_ verdict: Verdict, of head: ResponseHead, for ask: Ask, held: Int64) {
        let context = Comment("\(head) for \(ask)")
        switch verdict {
        case .part(let version, let body):
            #expect(head.status == 206 && !body.isEmpty && body.lowerBound == ask.range?.lowerBound, context)
            #expect(ask.isOpenEnded || body.upperBound <= ask.range?.upperBound ?? 0, context)
            #expect(body.upperBound <= version.total ?? .max && !version.isEncoded, context)
        case .whole(let version):
            #expect(ask.held == nil && version.total ?? 0 >= 0, context)
        case .resumed: #expect(ask.resumeData != nil && head.status == 206, context)
        case .restart, .fromZero(.contentChanged):
            #expect(ask.held != nil || head.status == 416, context)
        case .complete(let total): #expect(head.status == 416 && total == held, context)
        case .refused(_, let delay): #expect((.zero)...(.seconds(86_400)) ~= delay ?? .zero, context)
        case .fromZero: #expect(head.status == 416, context)
        case .unusable: #expect([200, 203, 206].contains(head.status), context)
        case .redirect: #expect(head.status == 301, context)
        }
    }

    static let bytes = Array("\0\t\r\n \"*,-/09:AaW".utf8) + [0x7F, 0x80, 0xFF]

    /// Single bytes changed in values that are right.
    @Test(arguments: ["\"abc\"", Heads.date, "bytes 400-999/1000", "bytes */400", "Sun Nov  6 08:49:37 1994", "3600"])
    func changedBytesDoNotTrap(_ value: String) {
        for index in value.utf8.indices {
            for byte in Self.bytes {
                var bytes = Array(value.utf8)
                bytes[value.utf8.distance(from: value.utf8.startIndex, to: index)] = byte
                let text = String(decoding: bytes, as: UTF8.self)
                let fields = HeaderFields(Self.names.map { .init(name: $0, value: text) })
                let version = Version(ResponseHead(status: 206, fields: fields))
                #expect(version.total ?? 0 >= 0 && (version.entityTag?.text.isEmpty != true))
                #expect(RetryAfter.delay(fields: fields, wallSeconds: 0) ?? .zero >= .zero)
            }
        }
    }
}
