@testable import LannerLoopback
@testable import LannerMachine

/// Heads of responses, each to a question of its own.
extension FuzzTarget {
    static let judge = FuzzTarget("judge") { bytes in
        var feed = Feed(bytes)
        let question = Question(&feed)
        let head = ResponseHead(status: feed.pick(Question.statuses), fields: question.fields(&feed))
        let verdict = LannerMachine.judge(head, for: question.ask, prefix: question.held, wallSeconds: 1_735_689_600)
        let trial = Trial(ask: question.ask, held: question.held, head: head)
        try trial.checkAsk()
        try trial.check(verdict)
    }
}

/// What is asked of a server, and the field values that an answer could have.
private struct Question {
    var ask: Ask
    var held: Int64
    private var range: Range<Int64>
    private var total: Int64

    static let statuses = [206, 200, 416, 203, 204, 301, 302, 303, 307, 308, 304, 404, 412, 429, 500, 503]
    private static let tags = ["\"a\"", "\"b\"", "W/\"a\"", "W/\"b\"", "a", "\"a\", \"b\"", ""]
    private static let dates = [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994", "Thu, 01 Jan 1970 00:00:00 GMT", "never", "",
    ]

    init(_ feed: inout Feed) {
        total = Int64(feed.wide(below: 2000))
        let lower = Int64(feed.wide(below: 1500))
        range = lower..<lower + Int64(feed.wide(below: 1500))
        held = feed.flag() ? lower : Int64(feed.wide(below: 2000))
        let shape = feed.byte()
        let version = shape & 1 == 0 ? nil : Self.version(&feed, total)
        let top = feed.pick(Rung.allCases)
        if shape & 2 != 0 {
            ask = .resumed(ResumeData([1], held: held), held: version)
        } else {
            ask =
                Ask.next(range: range, isOpenEnded: shape & 4 != 0, held: version, from: top, hasDigest: shape & 8 != 0)
                ?? .whole
        }
    }

    private static func version(_ feed: inout Feed, _ total: Int64) -> Version {
        Version(
            entityTag: EntityTag(feed.pick(tags)), lastModified: feed.flag() ? feed.pick(dates) : nil,
            isLastModifiedStrong: feed.flag(), total: feed.flag() ? total : nil)
    }

    /// Fields made of what was asked for, nearly right; or of anything.
    func fields(_ feed: inout Feed) -> HeaderFields {
        var fields = HeaderFields()
        while !feed.isEmpty {
            switch feed.below(14) {
            case 0, 1: fields.append("Content-Range", contentRange(&feed))
            case 2: fields.append("content-range", feed.line())
            case 3: fields.append("Content-Length", "\(near(range.upperBound - range.lowerBound, &feed))")
            case 4: fields.append("Content-Length", feed.line())
            case 5, 6: fields.append("ETag", feed.pick(Self.tags))
            case 7: fields.append("Last-Modified", feed.pick(Self.dates))
            case 8: fields.append("Date", feed.pick(Self.dates))
            case 9: fields.append("Content-Encoding", feed.pick(["identity", "gzip", "", ", br"]))
            case 10: fields.append("Transfer-Encoding", feed.pick(["chunked", "identity"]))
            case 11: fields.append("Content-Type", feed.pick(["multipart/byteranges; boundary=x", "a/b", " "]))
            case 12: fields.append("Location", feed.line())
            case _: fields.append("Retry-After", feed.line())
            }
        }
        return fields
    }

    private func contentRange(_ feed: inout Feed) -> String {
        let size = feed.below(3) > 0 ? "\(near(total, &feed))" : "*"
        if feed.below(4) == 0 { return "bytes */\(size)" }
        return "bytes \(near(range.lowerBound, &feed))-\(near(range.upperBound - 1, &feed))/\(size)"
    }

    private func near(_ number: Int64, _ feed: inout Feed) -> Int64 {
        number + Int64(feed.pick([0, 0, 0, 1, -1, 2, -100, 1000]))
    }
}

/// What a verdict has to be true to, found out in another way than the judge's.
private struct Trial {
    var ask: Ask
    var held: Int64
    var head: ResponseHead

    private var isContinued: Bool { ask.held != nil || ask.resumeData != nil }
    private func words(_ name: String) -> Set<String> { Set(head.fields.values(of: name)) }

    /// A server understands the range as it was meant, and gets a condition that is a validator of what is held.
    func checkAsk() throws {
        let fields = ask.headerFields
        try promise(fields.values(of: "Accept-Encoding") == ["identity"], "codings are asked for")
        try promise((fields["Range"] == nil) == (ask.range == nil), "there is a range, or none, against the question")
        if let range = ask.range {
            let asked = AskedRange(field: fields["Range"], length: .max)
            let meant = range.lowerBound..<(ask.isOpenEnded ? .max : range.upperBound)
            try promise(asked == .part(meant), "\(fields["Range"] ?? "") is not \(meant)")
        }
        guard let condition = fields["If-Range"] else { return }
        try promise(ask.range != nil && !condition.hasPrefix("W/"), "\(condition) cannot be a condition")
        try promise(
            condition == ask.held?.entityTag?.text || condition == ask.held?.lastModified,
            "\(condition) is no validator of what is held")
    }

    func check(_ verdict: Verdict) throws {
        switch verdict {
        case .part(let version, let body): try checkPart(version, body)
        case .whole(let version):
            try promise(!isContinued, "what is held is gone")
            let isWhole = [200, 203].contains(head.status) || isWholePart(version)
            try promise(isWhole, "status \(head.status) is no whole file")
            try checkTotal(version)
        case .resumed(let version, let joint):
            try promise(head.status == 206 && ask.resumeData != nil, "status \(head.status) goes on with nothing")
            try promise(joint >= 0 && joint < version.total ?? 0, "\(joint) is no position of the file")
            try checkTotal(version)
        case .restart(let version, _):
            try promise([200, 203].contains(head.status) && isContinued, "there is nothing to start over")
            try checkTotal(version)
        case .fromZero:
            try promise(isContinued || ask.range != nil, "from zero again although it was from zero")
        case .complete(let total):
            try promise(head.status == 416 && total == held && ask.range != nil, "\(total) are not all of it")
            try promise(words("Content-Range").allSatisfy { $0.contains("\(total)") }, "\(total) was not said")
        case .unusable(let words):
            try promise(!words.isEmpty, "no words for what is wrong")
        case .redirect(let location):
            try promise((301...308).contains(head.status), "status \(head.status) does not redirect")
            try promise(words("Location") == [location] && location.contains { $0 != " " && $0 != "\t" }, location)
        case .refused(let status, let delay):
            try promise(status == head.status && status != 206, "a part is refused by its status")
            try promise(delay.map { $0 >= .zero && $0 <= .seconds(86_400) } ?? true, "\(delay ?? .zero)")
        }
    }

    private func checkPart(_ version: Version, _ body: Range<Int64>) throws {
        guard head.status == 206, let asked = ask.range else { throw BrokenPromise(description: "a part unasked") }
        try promise(body.lowerBound == asked.lowerBound && !body.isEmpty, "\(body) for \(asked)")
        try promise(ask.isOpenEnded || body.upperBound <= asked.upperBound, "\(body) for \(asked)")
        let ranges = words("Content-Range").flatMap { $0.split(separator: ",") }.map(numbers)
        let isSaid = !ranges.isEmpty && ranges.allSatisfy { $0.prefix(2) == [body.lowerBound, body.upperBound - 1] }
        try promise(isSaid, "\(ranges) are not \(body)")
        try promise(isPlain, "several parts, or coded bytes, pass for a part")
        try promise(version.total.map { body.upperBound <= $0 } ?? true, "\(body) of \(version.total ?? 0)")
        if let held = ask.held { try checkSame(held, version) }
    }

    /// Whether the answer is a part, asked for as no part, that all of the file is in.
    private func isWholePart(_ version: Version) -> Bool {
        guard head.status == 206, ask.range == nil, let total = version.total else { return false }
        let ranges = words("Content-Range").flatMap { $0.split(separator: ",") }.map(numbers)
        return !ranges.isEmpty && ranges.allSatisfy { $0 == [0, total - 1, total] } && isPlain
    }

    /// Whether the body is the bytes themselves: not of several parts, and not in a content coding.
    private var isPlain: Bool {
        !words("Content-Type").contains { $0.hasPrefix("multipart") }
            && !words("Content-Encoding").contains { $0.contains("gzip") || $0.contains("br") }
    }

    private func numbers(_ text: Substring) -> [Int64] {
        text.split { !("0"..."9").contains($0) }.compactMap { Int64($0) }
    }

    /// What is gone on with is what was held, and nothing that the answer says speaks against it.
    private func checkSame(_ held: Version, _ version: Version) throws {
        try promise(
            held.entityTag == version.entityTag && held.lastModified == version.lastModified, "validators moved")
        try promise(held.total == nil || held.total == version.total, "the total of what is held has changed")
        try promise(ask.rung != .none, "it is tied to nothing")
        if ask.rung == .digestOnly { return }
        if let mine = held.entityTag, words("ETag").count == 1, let theirs = EntityTag(fields: head.fields) {
            try promise(mine.isEquivalent(to: theirs), "\(theirs.text) goes on with \(mine.text)")
        }
    }

    private func checkTotal(_ version: Version) throws {
        try promise(version.total ?? 0 >= 0, "a negative total")
        try promise(!version.isEncoded || version.total == nil, "an encoded file has no size")
    }
}
