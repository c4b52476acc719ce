import LannerMachine
import Testing

@Suite struct AskTests {
    private func fields(_ ask: Ask?) throws -> [String: String] {
        Dictionary(
            try #require(ask).headerFields.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { "\($0), \($1)" })
    }

    @Test func theWholeIsAskedForWithoutARange() throws {
        #expect(try fields(.whole) == ["Accept-Encoding": "identity"])
        #expect(Ask.whole.held == nil && Ask.whole.rung == .none)
    }

    @Test func theFirstRangeHasNoCondition() throws {
        let ask = Ask.next(range: 0..<100, isOpenEnded: false, held: nil, hasDigest: false)
        #expect(try fields(ask) == ["Accept-Encoding": "identity", "Range": "bytes=0-99"])
        let open = Ask.next(range: 0..<Int64.max, isOpenEnded: true, held: nil, hasDigest: false)
        #expect(try fields(open) == ["Accept-Encoding": "identity", "Range": "bytes=0-"])
    }

    @Test(
        arguments: [
            (Heads.whole(), Rung.strongTag, "\"a\""), (Heads.whole(tag: "W/\"a\""), .strongDate, Heads.dayBefore),
            (Heads.whole(tag: nil, modified: "Sat Nov  5 08:49:37 1994"), .strongDate, "Sat Nov  5 08:49:37 1994"),
            (Heads.whole(tag: "W/\"a\"", modified: nil), .weak, nil),
            (Heads.whole(tag: nil, modified: nil), .digestOnly, nil),
        ] as [(ResponseHead, Rung, String?)])
    func theHeldVersionDecidesTheCondition(_ head: ResponseHead, _ rung: Rung, _ condition: String?) throws {
        let ask = Ask.next(range: 50..<60, isOpenEnded: false, held: Version(head), hasDigest: true)
        var expected = ["Accept-Encoding": "identity", "Range": "bytes=50-59"]
        expected["If-Range"] = condition
        #expect(try fields(ask) == expected)
        #expect(ask?.rung == rung)
    }

    @Test func fallsToTheRungThatIsLeft() throws {
        func ask(from top: Rung) -> Ask? {
            Ask.next(range: 5..<9, isOpenEnded: true, held: Version(Heads.whole()), from: top, hasDigest: false)
        }
        #expect(try fields(ask(from: .strongDate))["If-Range"] == Heads.dayBefore)
        #expect(try fields(ask(from: .weak))["If-Range"] == nil)
        #expect(ask(from: .digestOnly) == nil)
        #expect(ask(from: .none) == nil)
    }

    @Test func whatCannotBeGoneOnWithIsNotAskedFor() {
        let (held, bare) = (Version(Heads.whole()), Version(Heads.whole(tag: nil, modified: nil)))
        let encoded = Version(Heads.whole(["Content-Encoding": "gzip"]))
        #expect(Ask.next(range: 5..<9, isOpenEnded: false, held: nil, hasDigest: true) == nil)
        #expect(Ask.next(range: 5..<9, isOpenEnded: false, held: bare, hasDigest: false) == nil)
        #expect(Ask.next(range: 5..<9, isOpenEnded: false, held: encoded, hasDigest: true) == nil)
        #expect(Ask.next(range: 5..<5, isOpenEnded: false, held: held, hasDigest: true) == nil)
        #expect(Ask.next(range: -5..<5, isOpenEnded: false, held: held, hasDigest: true) == nil)
    }
}
