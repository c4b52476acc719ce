import LannerMachine
import Testing

@Suite struct VersionTests {
    @Test func takesTheSizeFromWhereTheStatusPutsIt() {
        #expect(Version(Heads.whole()).total == 1000)
        #expect(Version(Heads.whole(length: nil)).total == nil)
        #expect(Version(Heads.part(10..<20)).total == 1000)
        #expect(Version(Heads.part(10..<20, of: nil)).total == nil)
        #expect(Version(Heads.status(416, ["Content-Range": "bytes */7"])).total == 7)
        #expect(Version(Heads.status(416, ["Content-Length": "153"])).total == nil)
        #expect(Version(Heads.whole(["Content-Encoding": "gzip"])).total == nil)
        #expect(Version(Heads.whole(["Content-Encoding": "gzip"])).isEncoded)
        #expect(!Version(Heads.whole(["Content-Encoding": "identity"])).isEncoded)
    }

    @Test(arguments: [
        (Heads.dayBefore, Heads.date, true), (Heads.secondBefore, Heads.date, true), (Heads.date, Heads.date, false),
        (Heads.date, Heads.dayBefore, false), (Heads.dayBefore, nil, false), (Heads.dayBefore, "yesterday", false),
    ])
    func aDateIsStrongWhenItIsASecondOld(_ modified: String, _ date: String?, _ isStrong: Bool) {
        var head = Heads.whole(modified: modified)
        head.fields["Date"] = date
        #expect(Version(head).isLastModifiedStrong == isStrong)
        #expect(Version(head).lastModified == modified)
    }

    @Test(arguments: ["0", "-1", "yesterday", "", "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:01 GMT"])
    func whatIsNoDateOfTheFileIsNoValidator(_ modified: String) {
        let version = Version(Heads.whole(tag: nil, modified: modified))
        #expect(version.lastModified == nil && version.lastModifiedSeconds == nil && !version.isLastModifiedStrong)
        #expect(version.rung(hasDigest: false) == .none)
    }

    /// Most servers make theirs of date and size: with one date for all files it says nothing, either.
    @Test(arguments: ["\"1-1400000\"", "\"1400000-f4240\"", "\"1chhq8\"", "W/\"1-1400000\""])
    func aTagOfADateThatIsNoneIsNoValidator(_ tag: String) {
        let version = Version(Heads.whole(tag: tag, modified: "Thu, 01 Jan 1970 00:00:01 GMT"))
        #expect(!version.hasValidators && version.total == 1000 && version.rung(hasDigest: false) == .none)
        #expect(Version(Heads.whole(tag: tag, modified: nil)).entityTag?.text == tag)
        #expect(Version(Heads.whole(tag: tag)).entityTag?.text == tag)
        let digest = "\"d41d8cd98f00b204e9800998ecf8427e\""
        let hashed = Version(Heads.whole(tag: digest, modified: "Thu, 01 Jan 1970 00:00:01 GMT"))
        #expect(hashed.rung(hasDigest: false) == .strongTag)
    }

    @Test func aRecordThatMakesNoSenseIsReadAsFarAsItDoes() {
        let version = Version(entityTag: nil, lastModified: "x\r\ny", isLastModifiedStrong: true, total: -5)
        #expect(version == Version(entityTag: nil, lastModified: nil, isLastModifiedStrong: false, total: nil))
        let held = Version(Heads.whole())
        let record = Version(
            entityTag: held.entityTag, lastModified: held.lastModified, isLastModifiedStrong: held.isLastModifiedStrong,
            total: held.total)
        #expect(record == held)
    }

    @Test(arguments: [
        (Heads.whole(), Rung.strongTag), (Heads.whole(tag: "W/\"a\""), .strongDate),
        (Heads.whole(tag: nil), .strongDate),
        (Heads.whole(tag: "a"), .strongDate), (Heads.whole(tag: nil, modified: Heads.date), .weak),
        (Heads.whole(tag: "W/\"a\"", modified: nil), .weak),
        (Heads.whole(tag: "W/\"a\"", modified: nil, length: nil), .none),
        (Heads.whole(tag: nil, modified: nil), .none), (Heads.whole(length: nil), .strongTag),
        (Heads.whole(["Content-Encoding": "gzip"]), .none),
    ])
    func standsOnTheFirstRungThatHolds(_ head: ResponseHead, _ rung: Rung) {
        let version = Version(head)
        #expect(version.rung(hasDigest: false) == rung)
        let digestHelps = rung == .none && !version.isEncoded
        #expect(version.rung(hasDigest: true) == (digestHelps ? .digestOnly : rung))
    }

    @Test func fallsNoHigherThanItIsTold() {
        let version = Version(Heads.whole())
        let rungs: [Rung] = [.strongTag, .strongDate, .weak, .none, .none]
        #expect(Rung.allCases.map { version.rung(from: $0, hasDigest: false) } == rungs)
        #expect(Rung.allCases.map { version.rung(from: $0, hasDigest: true) } == Rung.allCases)
    }

    /// What a 206 says beside what is held, and on which rungs it passes.
    @Test(
        arguments: [
            ("all the same", Heads.part(5..<9), [.strongTag, .strongDate, .weak, .digestOnly]),
            ("other tag", Heads.part(5..<9, tag: "\"b\""), [.digestOnly]),
            ("other tag, weak", Heads.part(5..<9, tag: "W/\"b\""), [.digestOnly]),
            ("same tag, weak", Heads.part(5..<9, tag: "W/\"a\""), [.strongDate, .weak, .digestOnly]),
            ("no tag", Heads.part(5..<9, tag: nil), [.strongTag, .strongDate, .digestOnly]),
            ("no tag, other date", Heads.part(5..<9, tag: nil, modified: Heads.otherDay), [.digestOnly]),
            // The strong tag outweighs the date.
            ("other date", Heads.part(5..<9, modified: Heads.otherDay), [.strongTag, .strongDate, .weak, .digestOnly]),
            ("same tag, weak, other date", Heads.part(5..<9, tag: "W/\"a\"", modified: Heads.otherDay), [.digestOnly]),
            ("no date", Heads.part(5..<9, modified: nil), [.strongTag, .strongDate, .digestOnly]),
            ("nothing", Heads.part(5..<9, tag: nil, modified: nil), [.strongTag, .strongDate, .digestOnly]),
            ("no total", Heads.part(5..<9, of: nil), [.strongTag, .strongDate, .digestOnly]),
            ("other total", Heads.part(5..<9, of: 999), []),
        ] as [(String, ResponseHead, Set<Rung>)])
    func eachRungHasItsChecks(_ what: String, _ head: ResponseHead, _ passing: Set<Rung>) {
        let held = Version(Heads.whole())
        let passed = Rung.allCases.filter { held.isSame(as: Version(head), on: $0) }
        #expect(Set(passed) == passing, "\(what)")
    }

    @Test func aSizeIsLearnedOnceAndNotForEncodedBodies() {
        let unsized = Version(Heads.whole(length: nil))
        #expect(unsized.knowing(total: 7).total == 7)
        #expect(Version(Heads.whole()).knowing(total: 7).total == 1000)
        #expect(Version(Heads.whole(["Content-Encoding": "br"])).knowing(total: 7).total == nil)
    }
}

@Suite struct RungLadderTests {
    @Test func givesARungUpOnlyAfterAStartOverWithoutGain() {
        var ladder = RungLadder()
        #expect(ladder.top == .strongTag)
        ladder.startedOver(losing: 0, askedOn: .none)
        #expect(ladder.top == .strongTag)
        ladder.startedOver(losing: 100, askedOn: .strongTag)
        #expect(ladder.top == .strongTag)
        ladder.startedOver(losing: 100, askedOn: .strongTag)
        #expect(ladder.top == .strongDate)
        // Asked lower than it had to: all above is given up with it.
        ladder.startedOver(losing: 30, askedOn: .weak)
        #expect(ladder.top == .digestOnly)
        ladder.startedOver(losing: 0, askedOn: .strongTag)
        #expect(ladder.top == .digestOnly)
        ladder.startedOver(losing: 101, askedOn: .digestOnly)
        #expect(ladder.top == .strongTag && ladder.mark == 101)
    }

    /// A server that never lets a download go on: whatever the order of its losses, it is asked for whole soon.
    @Test(arguments: 0..<50)
    func neverLoops(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var ladder = RungLadder()
        let version = Version(Heads.whole())
        var asks = 0
        while true {
            let rung = version.rung(from: ladder.top, hasDigest: true)
            if rung == .none { break }
            asks += 1
            ladder.startedOver(losing: Int64.random(in: 0...8, using: &generator), askedOn: rung)
        }
        // At most four rungs for each of the eight times that it comes farther.
        #expect(asks <= 4 * 9)
    }

    /// What is no date of HTTP is compared, and not sent.
    @Test func aDateWithAnotherZoneIsWeak() {
        let date = "Mon, 01 Jan 2024 00:00:00 +0000"
        let version = Version(Heads.whole(tag: nil, modified: date, ["Date": "Tue, 02 Jan 2024 00:00:00 GMT"]))
        #expect(version.lastModified == date && version.lastModifiedSeconds == 1_704_067_200)
        #expect(!version.isLastModifiedStrong && version.rung(hasDigest: false) == .weak)
    }
}

/// What the digest that a server gives says of a version.
@Suite struct VersionDigestTests {
    private func version(_ byte: UInt8?, tag: String? = nil) -> Version {
        Version(
            entityTag: tag.flatMap { EntityTag($0) }, lastModified: nil, isLastModifiedStrong: false, total: 9,
            digest: byte.flatMap { ServerDigest(.md5, [UInt8](repeating: $0, count: 16)) })
    }

    @Test func tellsVersionsApart() {
        #expect(version(1).isContradicted(by: version(2)))
        #expect(version(1, tag: "\"a\"").isContradicted(by: version(2, tag: "\"a\"")))
        #expect(!version(1).isContradicted(by: version(1)) && !version(1).isContradicted(by: version(nil)))
        #expect(
            !version(1).isSame(as: version(2), on: .digestOnly) && version(1).isSame(as: version(1), on: .digestOnly))
    }

    @Test func decidesLikeOneOfTheCallers() {
        #expect(version(1).rung(hasDigest: false) == .digestOnly)
        #expect(version(1).withoutDigest.rung(hasDigest: false) == .none)
        #expect(version(1).sizeOnly.digest == nil)
        #expect(version(nil).knowing(total: 9).digest == nil && version(1).knowing(total: 9).digest != nil)
    }
}
