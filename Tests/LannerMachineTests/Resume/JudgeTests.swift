import LannerMachine
import Testing

/// Every answer of the ladder, as a table: the request, the head, the verdict.
@Suite struct JudgeTests {
    static let held = Version(Heads.whole())
    /// Bytes 400 and on of a file of which 400 are held.
    static let rest = ask(400..<1000, isOpenEnded: true, held)
    /// One slice of it.
    static let slice = ask(400..<500, isOpenEnded: false, held)
    static let first = ask(0..<100, isOpenEnded: false, nil)

    static func ask(
        _ range: Range<Int64>, isOpenEnded: Bool, _ held: Version?, from top: Rung = .strongTag, hasDigest: Bool = true
    ) -> Ask {
        Ask.next(range: range, isOpenEnded: isOpenEnded, held: held, from: top, hasDigest: hasDigest) ?? .whole
    }

    func verdict(_ ask: Ask, _ head: ResponseHead, held: Int64 = 400) -> Verdict {
        judge(head, for: ask, prefix: ask.held == nil ? 0 : held, wallSeconds: 0)
    }

    func isUnusable(_ ask: Ask, _ head: ResponseHead) -> Bool {
        switch verdict(ask, head) {
        case .unusable(let why): !why.isEmpty
        case .part, .whole, .resumed, .restart, .fromZero, .complete, .redirect, .refused: false
        }
    }

    @Test(arguments: [
        (Self.rest, 400..<1000), (Self.rest, 400..<401), (Self.slice, 400..<500), (Self.slice, 400..<450),
    ])
    func aPartAsAskedGoesOn(_ ask: Ask, _ body: Range<Int64>) {
        #expect(verdict(ask, Heads.part(body)) == .part(Self.held, body: body))
    }

    @Test func theFirstPartBeginsAVersion() {
        #expect(verdict(Self.first, Heads.part(0..<100)) == .part(Self.held, body: 0..<100))
        let unsized = Heads.part(0..<50, of: nil)
        #expect(verdict(Self.first, unsized) == .part(Version(unsized), body: 0..<50))
        #expect(Version(unsized).total == nil)
    }

    /// Some caches answer so: it is all of it.
    @Test func theWholeAsAPartIsTheWhole() {
        #expect(verdict(.whole, Heads.part(0..<1000)) == .whole(Self.held))
        #expect(isUnusable(.whole, Heads.part(0..<999)))
        #expect(isUnusable(.whole, Heads.part(1..<1000)))
        #expect(isUnusable(.whole, Heads.part(0..<1000, of: nil)))
    }

    /// A body without a length, of a version whose size is known, ends there and not where the connection does.
    @Test func theSameTagKeepsItsSize() {
        #expect(verdict(Self.rest, Heads.whole(length: nil)) == .restart(Self.held, .rangesNotServed))
        let other = Heads.whole(tag: "\"b\"", length: nil)
        #expect(verdict(Self.rest, other) == .restart(Version(other), .contentChanged))
        #expect(Version(other).total == nil)
    }

    /// The validators of what a proxy has changed are those of what it was.
    @Test func whatAProxyHasChangedHasNoValidators() {
        let version = Version(Heads.whole().with(status: 203))
        #expect(version == Self.held.withoutValidators && version.total == 1000)
        #expect(version.rung(hasDigest: false) == .none)
    }

    @Test func theHeldVersionStaysAndLearnsItsSize() {
        let unsized = Version(Heads.whole(length: nil))
        let ask = Self.ask(400..<Int64.max, isOpenEnded: true, unsized)
        let answer = Heads.part(400..<1000, tag: nil, modified: nil)
        #expect(verdict(ask, answer) == .part(Self.held, body: 400..<1000))
        #expect(verdict(Self.rest, Heads.part(400..<1000, of: nil, tag: nil)) == .part(Self.held, body: 400..<1000))
    }

    @Test(arguments: [
        Heads.part(400..<1000, tag: "\"b\""), Heads.part(400..<1000, of: 1001), Heads.part(400..<999, of: 999),
        Heads.part(400..<1000, tag: nil, modified: Heads.otherDay), Heads.part(400..<1000, tag: "W/\"a\""),
    ])
    func aPartOfAnotherVersionIsNoUse(_ head: ResponseHead) {
        #expect(verdict(Self.rest, head) == .fromZero(.contentChanged))
    }

    @Test func onTheWeakRungEverythingHasToBeToldAgain() {
        let weak = Self.ask(400..<1000, isOpenEnded: true, Self.held, from: .weak)
        #expect(weak.ifRange == nil)
        #expect(verdict(weak, Heads.part(400..<1000)) == .part(Self.held, body: 400..<1000))
        #expect(verdict(weak, Heads.part(400..<1000, tag: nil)) == .fromZero(.contentChanged))
        #expect(verdict(weak, Heads.part(400..<1000, of: nil)) == .fromZero(.contentChanged))
    }

    @Test func withADigestTheEndDecides() {
        let digest = Self.ask(400..<1000, isOpenEnded: true, Self.held, from: .digestOnly)
        let other = Heads.part(400..<1000, tag: "\"b\"", modified: Heads.otherDay)
        #expect(verdict(digest, other) == .part(Self.held, body: 400..<1000))
        #expect(verdict(digest, Heads.part(400..<1001, of: 1001)) == .fromZero(.contentChanged))
    }

    @Test(arguments: [
        Heads.part(0..<1000), Heads.part(399..<1000), Heads.part(401..<1000),
        Heads.part(400..<1000, ["Content-Length": "5"]),
        Heads.part(400..<1000, ["Content-Length": "600, 601"]), Heads.part(400..<1000, ["Content-Length": "x"]),
        Heads.part(400..<1000, ["Content-Encoding": "gzip"]), Heads.status(206), Heads.whole().with(status: 206),
        Heads.part(400..<1000, ["Content-Type": "multipart/byteranges; boundary=x"]),
        Heads.status(206, ["Content-Range": "bytes */1000"]), Heads.status(206, ["Content-Range": "bytes 400-999"]),
        Heads.status(206, ["Content-Range": "bytes 400-999/999"]),
        Heads.status(206, ["Content-Range": "bytes 999-400/*"]),
        Heads.status(206, ["Content-Range": "bytes 400-999/1000", "content-range": "bytes 0-999/1000"]),
        Heads.status(206, ["Content-Type": "Multipart/ByteRanges", "Content-Range": "bytes 400-999/1000"]),
    ])
    func aPartThatContradictsIsUnusable(_ head: ResponseHead) {
        #expect(isUnusable(Self.rest, head))
    }

    @Test func whatResumeDataAskedForIsTheWholeFileInTheEnd() {
        for held in [Self.held, nil] {
            let ask = Ask.resumed(ResumeData([1], held: 400), held: held)
            #expect(verdict(ask, Heads.part(400..<1000)) == .resumed(Self.held, at: 400))
            #expect(verdict(ask, Heads.whole()) == .restart(Self.held, .rangesNotServed))
            #expect(isUnusable(ask, Heads.part(400..<900)), "not to the end")
            #expect(isUnusable(ask, Heads.part(400..<1000, of: nil)))
            #expect(isUnusable(ask, Heads.status(206)))
            #expect(verdict(ask, Heads.status(412)) == .fromZero(.contentChanged))
            #expect(verdict(ask, Heads.status(416)) == .fromZero(.contentChanged))
        }
        let ask = Ask.resumed(ResumeData([1], held: 400), held: Self.held)
        #expect(verdict(ask, Heads.part(400..<1000, tag: "\"b\"")) == .fromZero(.contentChanged))
        #expect(verdict(ask, Heads.part(400..<1001, of: 1001)) == .fromZero(.contentChanged))
        let other = Heads.whole(tag: "\"b\"")
        #expect(verdict(ask, other) == .restart(Version(other), .contentChanged))
    }

    @Test func moreThanWasAskedForIsUnusable() {
        #expect(isUnusable(Self.slice, Heads.part(400..<501)))
        #expect(isUnusable(Self.first, Heads.part(0..<101)))
        #expect(isUnusable(Self.rest, Heads.part(400..<1001, of: nil)), "from behind the end")
    }

    @Test func aWholeFileIsTakenWhenNothingWasHeld() {
        for ask in [Ask.whole, Self.first] {
            #expect(verdict(ask, Heads.whole()) == .whole(Self.held))
            #expect(verdict(ask, Heads.whole().with(status: 203)) == .whole(Self.held.withoutValidators))
            let encoded = Heads.whole(["Content-Encoding": "gzip"])
            #expect(verdict(ask, encoded) == .whole(Version(encoded)))
            #expect(verdict(ask, Heads.status(200)) == .whole(Version(Heads.status(200))))
        }
    }

    @Test(arguments: [
        (Heads.whole(), RestartReason.rangesNotServed), (Heads.whole(tag: "\"b\""), .contentChanged),
        (Heads.whole(length: 999), .contentChanged), (Heads.whole(tag: nil, modified: Heads.otherDay), .contentChanged),
        (Heads.whole(modified: Heads.otherDay), .rangesNotServed), (Heads.status(200), .rangesNotServed),
        (Heads.whole(["Content-Encoding": "gzip"]), .rangesNotServed),
    ])
    func aWholeFileStartsOverWhatIsHeld(_ head: ResponseHead, _ reason: RestartReason) {
        #expect(verdict(Self.rest, head) == .restart(Version(head), reason))
    }

    @Test(
        arguments: [
            ["Content-Length": "5, 6"], ["Content-Length": "-5"], ["Content-Range": "bytes 400-999/1000"],
            ["Content-Range": "bytes 0-999/*"], ["Content-Range": "bytes */1000"],
        ] as [HeaderFields])
    func aWholeFileThatContradictsItselfIsUnusable(_ more: HeaderFields) {
        #expect(isUnusable(Self.rest, Heads.whole(more)))
        #expect(isUnusable(.whole, Heads.whole(more)))
    }

    /// It has no meaning there, and who was asked for a part may have sent one all the same.
    @Test(arguments: ["nonsense", "items 0-9/10", "bytes 0-1000/1000", "bytes 0-999"])
    func aRangeThatNobodyCanReadIsNoneWhereNoneWasAskedFor(_ range: String) {
        let head = Heads.whole(["Content-Range": range])
        #expect(verdict(.whole, head) == .whole(Version(head)))
        #expect(isUnusable(Self.rest, head) && isUnusable(Self.first, head))
    }

    @Test func aWholeFileIsAsLongAsItsRangeSays() {
        #expect(isUnusable(.whole, Heads.whole(length: 500, ["Content-Range": "bytes 0-999/1000"])))
    }

    @Test func aRangeThatIsTheWholeFilePassesIn200() {
        let head = Heads.whole(["Content-Range": "bytes 0-999/1000"])
        #expect(verdict(.whole, head) == .whole(Version(head)))
    }

    @Test func aFailedConditionMeansChanged() {
        #expect(verdict(Self.rest, Heads.status(412)) == .fromZero(.contentChanged))
        #expect(verdict(.whole, Heads.status(412)) == .refused(status: 412, retryAfter: nil))
    }

    @Test func anUnsatisfiedRangeMayMeanThatAllIsHeld() {
        let unsized = Self.ask(400..<Int64.max, isOpenEnded: true, Version(Heads.whole(length: nil)))
        func answer(_ range: String?, _ more: HeaderFields = [:]) -> ResponseHead {
            var head = Heads.status(416, more)
            head.fields["Content-Range"] = range
            return head
        }
        #expect(verdict(unsized, answer("bytes */400")) == .complete(total: 400))
        #expect(verdict(unsized, answer("bytes */400", ["ETag": "\"a\""])) == .complete(total: 400))
        #expect(verdict(unsized, answer("bytes */400", ["Content-Encoding": "br"])) == .complete(total: 400))
        #expect(verdict(unsized, answer("bytes */400", ["ETag": "\"b\""])) == .fromZero(.contentChanged))
        #expect(verdict(unsized, answer("bytes */399")) == .fromZero(.contentChanged))
        #expect(verdict(unsized, answer("bytes */401")) == .fromZero(.rangesNotServed))
        #expect(verdict(unsized, answer("bytes 0-1/400")) == .fromZero(.unusableAnswer))
        #expect(verdict(unsized, answer(nil)) == .fromZero(.unusableAnswer))
        #expect(verdict(unsized, answer("bytes */400"), held: 300) == .fromZero(.contentChanged))
        #expect(verdict(Self.rest, answer("bytes */400")) == .fromZero(.contentChanged))
        #expect(verdict(Self.rest, answer("bytes */400", ["Content-Encoding": "br"])) == .fromZero(.contentChanged))
        let digest = Self.ask(400..<1000, isOpenEnded: true, Self.held, from: .digestOnly)
        #expect(verdict(digest, answer("bytes */400", ["ETag": "\"b\""])) == .fromZero(.contentChanged))
        #expect(verdict(.whole, answer("bytes */0")) == .refused(status: 416, retryAfter: nil))
    }

    @Test func anEmptyFileIsCompleteAtOnce() {
        #expect(verdict(Self.first, Heads.status(416, ["Content-Range": "bytes */0"])) == .complete(total: 0))
        #expect(verdict(Self.first, Heads.status(416, ["Content-Range": "bytes */9"])) == .fromZero(.rangesNotServed))
        #expect(verdict(.whole, Heads.whole(length: 0)) == .whole(Version(Heads.whole(length: 0))))
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectNeedsOneLocation(_ status: Int) {
        #expect(verdict(Self.rest, Heads.status(status, ["Location": "/x"])) == .redirect(location: "/x"))
        let refused = Verdict.refused(status: status, retryAfter: nil)
        #expect(verdict(Self.rest, Heads.status(status)) == refused)
        #expect(verdict(Self.rest, Heads.status(status, ["Location": " "])) == refused)
        #expect(verdict(Self.rest, Heads.status(status, ["Location": "/x", "location": "/y"])) == refused)
    }

    @Test(arguments: [
        100, 101, 201, 202, 204, 205, 226, 300, 304, 305, 400, 401, 403, 404, 407, 410, 429, 500, 503, 999, -1,
    ])
    func otherStatusesAreNoFile(_ status: Int) {
        let head = Heads.status(status, ["Retry-After": "7", "Location": "/x", "Content-Length": "5"])
        #expect(verdict(Self.rest, head) == .refused(status: status, retryAfter: .seconds(7)))
        #expect(verdict(.whole, head) == .refused(status: status, retryAfter: .seconds(7)))
    }
}

extension ResponseHead {
    fileprivate func with(status: Int) -> ResponseHead { ResponseHead(status: status, fields: fields) }
}
