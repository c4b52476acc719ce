import LannerMachine
import Testing

/// Pieces that are wrong, and digests that servers give.
@Suite struct PieceTests {
    @discardableResult
    private func damaged(_ bench: inout Bench, _ attempt: Attempt = 1, _ piece: Range<Int64> = 200..<300) -> [Action] {
        bench.feed(.file(bench.id, attempt, .damaged(piece)))
    }

    @Test func isAskedForBehindTheAnswerThatComes() {
        var bench = Bench.transferring(hasDigest: true)
        bench.feed(.exchange(bench.id, 1, .received(400)))
        bench.feed(.file(bench.id, 1, .wrote(0..<400)))
        let actions = damaged(&bench)
        #expect(actions.restarts == [.wrongPiece])
        #expect(actions.notices.contains(.progress(completed: 300, total: 1000)))
        #expect(actions.records.last?.written == ByteRanges([0..<200, 300..<400]))
        #expect(actions.asks.isEmpty)
        bench.feed(.file(bench.id, 1, .wrote(400..<1000)))
        let ask = bench.feed(.exchange(bench.id, 1, .ended(received: 1000))).asks
        #expect(ask.map(\.range) == [200..<300] && ask.first?.ifRange == "\"a\"")
        bench.feed(.exchange(bench.id, 2, .head(.part(200..<300, of: 1000))))
        bench.feed(.file(bench.id, 1, .wrote(200..<300)))
        #expect(
            bench.feed(.exchange(bench.id, 2, .ended(received: 100))).contains(.file(bench.id, 1, .verify(total: 1000)))
        )
    }

    @Test func comesBackFromVerifying() {
        var bench = Bench.verifying(hasDigest: true)
        let actions = damaged(&bench)
        #expect(actions.asks.map(\.range) == [200..<300] && actions.phases.isEmpty)
        bench.feed(.exchange(bench.id, 2, .head(.part(200..<300, of: 1000))))
        bench.feed(.file(bench.id, 1, .wrote(200..<300)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 100)))
        #expect(bench.state.map { if case .verifying = $0 { true } else { false } } == true)
        // What came in two answers may be of two versions.
        #expect(bench.feed(.file(bench.id, 1, .verified(.mismatch("")))).restarts == [.wrongDigest])
    }

    @Test func waitsForTheNetwork() {
        var bench = Bench.verifying(hasDigest: true)
        bench.feed(.network(available: false))
        let actions = damaged(&bench)
        #expect(actions.asks.isEmpty && actions.contains(.file(bench.id, 1, .close(sync: true))))
    }

    /// What was brought before is no fault of the place that is asked now, which is asked for it again.
    @Test func aPieceThatIsFoundWrongAtTheNextLookBlamesNobody() {
        var settings = Settings()
        settings.retry.maximumPieceRetries = 0
        var bench = Bench.requesting(settings, hasDigest: true, saved: .holding(0..<500))
        let actions = bench.feed(.file(bench.id, 1, .damaged(0..<100)))
        #expect(actions.restarts == [.wrongPiece] && actions.retry == nil)
        guard case .opening = bench.state else { return #expect(Bool(false), "\(String(describing: bench.state))") }
    }

    /// All of it has come, and a part of it was not written yet when the network went.
    @Test func waitsForTheNetworkWhileItIsWritten() {
        var bench = Bench.transferring(hasDigest: true)
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        bench.feed(.network(available: false))
        bench.feed(.file(bench.id, 1, .wrote(0..<500)))
        let actions = damaged(&bench)
        #expect(actions.asks.isEmpty && actions.contains(.file(bench.id, 1, .close(sync: true))))
    }

    @Test func whatWasHeldIsAGapLikeOthers() {
        var bench = Bench.requesting(hasDigest: true, saved: .holding(0..<500))
        #expect(damaged(&bench).asks.isEmpty)
        bench.feed(.exchange(bench.id, 1, .head(.part(500..<1000, of: 1000))))
        bench.feed(.file(bench.id, 1, .wrote(500..<1000)))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 500))).asks.map(\.range) == [200..<300])
    }

    @Test func slicesGoOnWithIt() {
        var bench = Bench.transferring(
            .sliced(100...100, inFlight: 1), hasDigest: true, head: .part(0..<100, of: 1000))
        bench.feed(.exchange(bench.id, 1, .received(50)))
        bench.feed(.file(bench.id, 1, .wrote(0..<50)))
        #expect(damaged(&bench, 1, 0..<50).asks.isEmpty)
        bench.feed(.file(bench.id, 1, .wrote(50..<100)))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 100))).asks.map(\.range) == [0..<50])
    }

    @Test(arguments: [0, 1, 3]) func isFetchedSoOftenAndThenFails(tries: Int) {
        var bench = Bench.verifying(Settings().with { $0.retry.maximumPieceRetries = tries }, hasDigest: true)
        for number in 0..<tries {
            #expect(damaged(&bench).asks.count == 1)
            let exchange = ExchangeNumber(number + 2)
            bench.feed(.exchange(bench.id, exchange, .head(.part(200..<300, of: 1000))))
            bench.feed(.file(bench.id, 1, .wrote(200..<300)))
            bench.feed(.exchange(bench.id, exchange, .ended(received: 100)))
        }
        // Another one has its own tries.
        if tries > 0 { #expect(damaged(&bench, 1, 300..<400).asks.count == 1) }
        #expect(damaged(&bench).contains(.file(bench.id, 1, .close(sync: true))))
        let end = bench.closed(1, 0..<200, 400..<1000)
        let detail =
            "The bytes from 200 to 299 do not have the checksum of their piece; check the checksums, or download again."
        #expect(end.phases == [.failed(DownloadFailure(.checksumMismatch, detail))])
        #expect(end.records.last?.written == ByteRanges([0..<200, 400..<1000]), "the others stay")
        // A start forgives.
        bench.verb(.start)
        #expect(bench.opened(2, 0..<200, 400..<1000).asks.count == 1)
        #expect(damaged(&bench, 2, 0..<100).restarts == [.wrongPiece])
    }

    /// A long repair may be interrupted again and again, as a download may.
    @Test func whatIsFetchedAgainIsAGain() {
        let lost = DownloadFailure(.transport(.connectionLost), "")
        let settings = Settings().with { $0.retry = RetryPolicy(maximumRetries: 1) }
        var bench = Bench.opening(settings, hasDigest: true, saved: .holding(0..<1000))
        bench.opened(1, 0..<1000)
        for start in [Int64(0), 100, 200] { damaged(&bench, 1, start..<start + 100) }
        bench.feed(.exchange(bench.id, 1, .head(.part(0..<100, of: 1000))))
        bench.feed(.file(bench.id, 1, .wrote(0..<100)))
        #expect(bench.feed(.exchange(bench.id, 1, .ended(received: 100))).asks.map(\.range) == [100..<300])
        #expect(bench.feed(.exchange(bench.id, 2, .failed(lost))).retry != nil)
        bench.closed(1, 0..<100, 300..<1000)
        bench.pass(.seconds(100))
        #expect(bench.opened(2, 0..<100, 300..<1000).asks.map(\.range) == [100..<300])
        bench.feed(.exchange(bench.id, 3, .head(.part(100..<300, of: 1000))))
        bench.feed(.exchange(bench.id, 3, .received(100)))
        bench.feed(.file(bench.id, 2, .wrote(100..<200)))
        #expect(bench.feed(.exchange(bench.id, 3, .failed(lost))).retry != nil)
    }

    @Test func aServerThatSendsTheWholeOnlyIsAskedForThat() {
        var bench = Bench.verifying(Settings().with { $0.retry.maximumChecksumRetries = 1 }, hasDigest: true)
        damaged(&bench)
        // The range is ignored.
        #expect(bench.feed(.exchange(bench.id, 2, .head(.file()))).restarts == [.rangesNotServed])
        bench.feed(.file(bench.id, 2, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 1000)))
        #expect(bench.transfer == nil)
    }

    @Test func withoutRangesTheWholeIsFetchedSoOften() {
        let settings = Settings().with { $0.retry.maximumPieceRetries = 2 }
        var bench = Bench.gettingWhole(settings, hasDigest: true)
        for number in 4..<7 {
            if number > 4 { bench.feed(.exchange(bench.id, ExchangeNumber(number - 1), .head(.file()))) }
            bench.feed(.file(bench.id, Attempt(number), .wrote(0..<300)))
            let actions = damaged(&bench, Attempt(number))
            #expect(actions.asks.isEmpty)
            #expect(actions.contains(.file(bench.id, Attempt(number), .close(sync: true))) == (number == 6))
            if number == 6 { break }
            #expect(actions.restarts == [.wrongPiece, .rangesNotServed])
            #expect(bench.opened(Attempt(number + 1)).asks.map(\.isPlain) == [true])
        }
        #expect(bench.closed(6, 0..<200).phases.count == 1)
    }

    /// Another piece is wrong each time.
    @Test func theWholeIsFetchedSoOftenForAllPieces() {
        let settings = Settings().with { $0.retry.maximumPieceRetries = 2 }
        var bench = Bench.verifying(settings, hasDigest: true)
        for number in 1..<4 as Range<Attempt> {
            let piece = Int64(number) * 100..<Int64(number + 1) * 100
            #expect(damaged(&bench, number, piece).asks.map(\.range) == [piece])
            // All of it comes instead.
            let exchange = ExchangeNumber(number + 1)
            #expect(bench.feed(.exchange(bench.id, exchange, .head(.file()))).restarts == [.rangesNotServed])
            bench.feed(.file(bench.id, number + 1, .wrote(0..<1000)))
            bench.feed(.exchange(bench.id, exchange, .ended(received: 1000)))
        }
        let actions = damaged(&bench, 4, 0..<100)
        #expect(actions.asks.isEmpty && actions.contains(.file(bench.id, 4, .close(sync: true))))
    }

    @Test func anotherURLIsTurnedToInsteadOfTheWhole() {
        var bench = Bench.gettingWhole(hasDigest: true)
        bench.feed(.file(bench.id, 4, .wrote(0..<300)))
        bench.feed(.readdress(bench.id, .unknown))
        #expect(damaged(&bench, 4).retry?.failure.reason == .checksumMismatch)
    }

    /// The size is learned with the last byte, or with the word that there is no more.
    @Test func aWrongSizeIsFoundAtTheEndAtTheLatest() {
        var saved = Saved.holding(0..<500)
        saved.total = nil
        saved.version = Version(
            entityTag: EntityTag("\"a\""), lastModified: nil, isLastModifiedStrong: false, total: nil)
        var bench = Bench()
        bench.feed(.add([NewDownload(id: bench.id, rank: 0, hasDigest: true, sizes: 1...400, saved: saved)]))
        bench.verb(.start)
        bench.opened(1, 0..<500)
        let head = ResponseHead(status: 416, fields: ["Content-Range": "bytes */500"])
        let actions = bench.feed(.exchange(bench.id, 1, .head(head)))
        #expect(actions.count { if case .transport(_, .stop) = $0 { true } else { false } } == 1)
        #expect(actions.restarts == [.wrongDigest], "they may be of two versions")
        bench.feed(.file(bench.id, 2, .opened(held: ByteRanges())))
        bench.feed(.exchange(bench.id, 2, .head(ResponseHead(status: 200, fields: [:]))))
        bench.feed(.file(bench.id, 2, .wrote(0..<500)))
        let end = bench.feed(.exchange(bench.id, 2, .ended(received: 500)))
        #expect(end.contains { if case .file(_, 2, .close) = $0 { true } else { false } })
        #expect(!end.contains { if case .file(_, _, .verify) = $0 { true } else { false } })
    }

    @Test func otherPiecesCountFromTheNextOpeningOn() {
        for var bench in [Bench.opening(), .requesting(), .transferring(), .verifying()] {
            let actions = bench.feed(.expectPieces(bench.id, sizes: 1...1000))
            #expect(actions.contains { if case .file(_, 1, .close) = $0 { true } else { false } })
            #expect(bench.closed().phases == [.running])
        }
        for var bench in [Bench.resting(), .announcing(), .succeeded()] {
            #expect(bench.feed(.expectPieces(bench.id, sizes: 1...1000)).isEmpty)
        }
    }

    /// The record that is kept may be one without them, which claims these bytes and would take others for them.
    @Test func bytesFromBeforeThemAreNotWrittenAgain() {
        var bench = Bench.resting(saved: .holding(0..<500))
        bench.feed(.expectPieces(bench.id, sizes: 1...1000))
        bench.verb(.start)
        bench.opened(1, 0..<500)
        let actions = damaged(&bench, 1)
        #expect(actions.restarts == [.wrongPiece])
        #expect(actions.contains(.file(bench.id, 2, .startOver(generation: 2, total: nil))))
        // The new file has been on record with them only.
        bench.feed(.file(bench.id, 2, .opened(held: ByteRanges())))
        bench.feed(.exchange(bench.id, 2, .head(.file())))
        bench.feed(.file(bench.id, 2, .wrote(0..<500)))
        #expect(!damaged(&bench, 2).contains { if case .file(_, _, .startOver) = $0 { true } else { false } })
    }

    /// The file was closed before anybody heard of the wrong piece, or has lost some bytes.
    @Test func norAreThoseOfWhichSomeAreGone() {
        var bench = Bench.resting(saved: .holding(0..<500))
        bench.feed(.expectPieces(bench.id, sizes: 1...1000))
        bench.verb(.start)
        var other = bench
        bench.opened(1, 0..<500)
        bench.verb(.suspend)
        #expect(bench.closed(1, 100..<500).restarts == [.bytesLost])
        #expect(bench.machine[bench.id]?.saved.written.isEmpty == true)
        #expect(bench.machine[bench.id]?.saved.generation == 2)
        #expect(other.feed(.file(other.id, 1, .opened(held: ByteRanges([100..<500])))).restarts == [.bytesLost])
        #expect(other.machine[other.id]?.saved.generation == 2)
    }

    /// A piece at the beginning was wrong, and no answer had told the size.
    @Test func noneIsTheSizeOfAnotherFile() {
        var saved = Saved.holding(500..<700)
        saved.version = Version(entityTag: nil, lastModified: nil, isLastModifiedStrong: false, total: nil)
        saved.total = nil
        var bench = Bench.requesting(hasDigest: true, saved: saved)
        let actions = bench.feed(
            .exchange(bench.id, 1, .head(ResponseHead(status: 416, fields: ["Content-Range": "bytes */0"]))))
        #expect(actions.restarts == [.contentChanged])
    }

    /// A piece at the beginning was wrong, and no answer had told the size.
    @Test func whatIsHeldBehindTheEndIsOfAnotherFile() {
        var saved = Saved.holding(500..<700)
        saved.version = Version(entityTag: nil, lastModified: nil, isLastModifiedStrong: false, total: nil)
        saved.total = nil
        var bench = Bench.requesting(hasDigest: true, saved: saved)
        let actions = bench.feed(.exchange(bench.id, 1, .head(.part(0..<203, of: 203, tag: nil))))
        #expect(actions.restarts == [.contentChanged])
        #expect(!actions.notices.contains { if case .progress(_, .some) = $0 { true } else { false } })
        #expect(!actions.notices.contains { if case .head = $0 { true } else { false } }, "it is of no use")
    }

    @Test func whatComesLateIsIgnored() {
        var bench = Bench.transferring(hasDigest: true)
        bench.verb(.suspend)
        #expect(damaged(&bench).ignored == [.late("damaged")])
        bench.closed(1, 0..<100)
        #expect(damaged(&bench).isOnlyIgnored)
    }

    // MARK: Digests of servers

    /// 32 times the byte 7.
    private static let field = "sha-256=:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=:"
    private let digest = ServerDigest(.sha256, [UInt8](repeating: 7, count: 32))

    private func head(_ head: ResponseHead) -> ResponseHead {
        var head = head
        head.fields["Repr-Digest"] = Self.field
        return head
    }

    @Test func theFileIsHashedForIt() throws {
        var bench = Bench.requesting()
        let expected = Action.file(bench.id, 1, .expect(try #require(digest)))
        let actions = bench.feed(.exchange(bench.id, 1, .head(head(.file(tag: nil)))))
        let accept = Action.transport(bench.id, .accept(1, 0..<1000))
        #expect(try #require(actions.firstIndex(of: expected)) < #require(actions.firstIndex(of: accept)))
        bench.feed(.file(bench.id, 1, .wrote(0..<500)))
        // It is remembered, and ties what comes later to what is there.
        bench.verb(.suspend)
        let saved = try #require(bench.closed(1, 0..<500).records.last)
        #expect(saved.version?.digest == digest)
        var later = Bench.resting(saved: saved)
        let open = later.verb(.start)
        #expect(
            open.suffix(2).first
                == .file(bench.id, 1, .open(generation: 1, claimed: ByteRanges([0..<500]), total: 1000)))
        #expect(open.last == expected)
        let ask = later.opened(1, 0..<500).asks.first
        #expect(ask?.range == 500..<1000 && ask?.rung == .digestOnly)
        later.feed(.exchange(later.id, 1, .head(head(.part(500..<1000, of: 1000, tag: nil)))))
        later.feed(.file(later.id, 1, .wrote(500..<1000)))
        later.feed(.exchange(later.id, 1, .ended(received: 500)))
        #expect(later.feed(.file(later.id, 1, .verified(.mismatch("")))).restarts == [.wrongDigest])
    }

    @Test func isOfNoInterestWhereItIsNotWanted() {
        let settings = Settings().with { $0.takesServerDigests = false }
        var bench = Bench.requesting(settings)
        let actions = bench.feed(.exchange(bench.id, 1, .head(head(.file(tag: nil)))))
        #expect(!actions.contains { if case .file(_, _, .expect) = $0 { true } else { false } })
        bench.feed(.file(bench.id, 1, .wrote(0..<500)))
        bench.verb(.suspend)
        #expect(bench.closed(1, 0..<500).records.last?.version?.digest == nil)
        #expect(bench.verb(.start).restarts == [.cannotResume])
    }

    @Test func isForgottenWhereItIsNotWantedAnyMore() {
        var saved = Saved.holding(0..<1000, tag: nil)
        saved.version = Version(
            entityTag: nil, lastModified: nil, isLastModifiedStrong: false, total: 1000, digest: digest)
        var bench = Bench.resting(saved: saved)
        #expect(bench.verb(.start).restarts.isEmpty)
        bench = Bench.resting(Settings().with { $0.takesServerDigests = false }, saved: saved)
        #expect(bench.verb(.start).restarts == [.cannotResume])
    }

    /// It was wanted when it was told, and is not when it would decide.
    @Test(arguments: [Verification.correct, .mismatch("")], [false, true])
    func isNotLookedAtOnceItIsNotWantedAnyMore(result: Verification, again: Bool) {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, .head(head(.file()))))
        bench.feed(.file(bench.id, 1, .wrote(0..<1000)))
        bench.feed(.settings(Settings().with { $0.takesServerDigests = false }))
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        // Wanted again, it comes too late: the slot may be another's.
        if again { bench.feed(.settings(Settings())) }
        let actions = bench.feed(.file(bench.id, 1, .verified(result)))
        #expect(actions.notices == [.verified(.sizeOnly)])
        #expect(actions.records.map(\.status) == [.publishing] && actions.records.last?.version?.digest == nil)
        // A digest of the caller's decides whatever is thought of those of servers.
        bench = .verifying(Settings().with { $0.takesServerDigests = false }, hasDigest: true)
        #expect(bench.feed(.file(bench.id, 1, .verified(result))).notices.first == .verified(result))
    }

    /// Nothing is held of the version that was known: the next may have another digest, or none.
    @Test(arguments: [nil, field.replacing("Bw", with: "CA", maxReplacements: 1)]) func thatOfAnotherVersionIsForgotten(
        field: String?
    ) {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, .head(head(.file()))))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(1)
        bench.pass(.seconds(100))
        bench.opened(2)
        var other = ResponseHead.file()
        other.fields["Repr-Digest"] = field
        let actions = bench.feed(.exchange(bench.id, 2, .head(other)))
        #expect(actions.contains(.file(bench.id, 3, .startOver(generation: 2, total: 1000))))
        let expected = actions.contains { if case .file(_, 3, .expect) = $0 { true } else { false } }
        #expect(expected == (field != nil))
        // That is no loss, and says nothing of the validators.
        #expect(actions.restarts.isEmpty)
        bench.feed(.file(bench.id, 3, .opened(held: ByteRanges())))
        bench.feed(.file(bench.id, 3, .wrote(0..<500)))
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(3, 0..<500)
        bench.pass(.seconds(100))
        #expect(bench.opened(4, 0..<500).asks.map(\.rung) == [.strongTag])
    }

    @Test func thatOfTheURLCountsForItsMirror() {
        var bench = Bench.requesting(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(head(.file()))))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(1)
        #expect(bench.opened(2).asks.map(\.source) == [1])
        let actions = bench.feed(.exchange(bench.id, 2, .head(.file(tag: "\"old\""))))
        #expect(!actions.contains { if case .file(_, _, .startOver) = $0 { true } else { false } })
        // The mirror has an old file: what the URL has told says so.
        bench.feed(.file(bench.id, 2, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 2, .ended(received: 1000)))
        #expect(bench.feed(.file(bench.id, 2, .verified(.mismatch("")))).restarts == [.wrongDigest])
    }

    /// The mirror may have another file: what the URL sends is what was asked for.
    @Test func thatOfAMirrorDoesNotCountForTheURL() {
        var bench = Bench.requesting(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.cannotConnect), ""))))
        bench.closed(1)
        #expect(bench.opened(2).asks.map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(head(.file(tag: "\"old\"")))))
        bench.feed(.exchange(bench.id, 2, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(2)
        bench.pass(.seconds(100))
        #expect(bench.opened(3).asks.map(\.source) == [0])
        bench.feed(.exchange(bench.id, 3, .head(.file())))
        bench.feed(.file(bench.id, 3, .wrote(0..<1000)))
        bench.feed(.exchange(bench.id, 3, .ended(received: 1000)))
        #expect(bench.feed(.file(bench.id, 3, .verified(.mismatch("")))).restarts == [])
    }

    /// Nor where the URL tells one as well: each is of its own file.
    @Test(arguments: [Settings(), .sliced(1000...1000, inFlight: 1)])
    func thatOfTheURLOutweighsThatOfItsMirror(settings: Settings) {
        let other = Self.field.replacing("Bw", with: "CA", maxReplacements: 1)
        func head(_ field: String) -> ResponseHead {
            var head = settings.delivery == .whole ? ResponseHead.file(tag: nil) : .part(0..<1000, of: 1000, tag: nil)
            head.fields["ETag"] = "\"\(field.count)\""
            head.fields["Repr-Digest"] = field
            return head
        }
        // The mirror is asked first, the URL being out of reach.
        var bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.cannotConnect), ""))))
        bench.closed(1)
        #expect(bench.opened(2).asks.map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(head(Self.field))))
        bench.feed(.exchange(bench.id, 2, .failed(lost)))
        bench.closed(2)
        bench.pass(.seconds(100))
        #expect(bench.opened(3).asks.map(\.source) == [0])
        let actions = bench.feed(.exchange(bench.id, 3, .head(head(other))))
        #expect(actions.contains(.file(bench.id, 4, .startOver(generation: 2, total: 1000))) && actions.restarts == [])
        #expect(bench.machine[bench.id]?.saved.version?.digest?.bytes.first == 8)
        // The URL is asked first, and its mirror then.
        bench = Bench.requesting(settings, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(head(Self.field))))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1)
        #expect(bench.opened(2).asks.map(\.source) == [1])
        bench.feed(.exchange(bench.id, 2, .head(head(other))))
        bench.closed(2)
        #expect(bench.opened(3).asks.map(\.source) == [0], "the mirror has another file by its own words")
    }

    private let lost = DownloadFailure(.transport(.connectionLost), "")

    /// The mirror has another file by its own words: better that than none.
    @Test func aMirrorThatTellsAnotherIsAskedWhereNobodyElseAnswers() {
        let other = Self.field.replacing("Bw", with: "CA", maxReplacements: 1)
        var bench = Bench.requesting(Settings().with { $0.retry.maximumRetries = 1 }, mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(head(.file()))))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        var (attempt, number, sources) = (Attempt(1), ExchangeNumber(1), [Source]())
        while attempt < 10 {
            bench.closed(attempt)
            bench.pass(.seconds(100))
            attempt += 1
            guard let ask = bench.opened(attempt).asks.first else { break }
            sources.append(ask.source)
            number += 1
            if ask.source == 0 {
                bench.feed(.exchange(bench.id, number, .failed(DownloadFailure(.transport(.cannotConnect), ""))))
                continue
            }
            var answer = ResponseHead.file(tag: "\"b\"")
            answer.fields["Repr-Digest"] = other
            let actions = bench.feed(.exchange(bench.id, number, .head(answer)))
            if actions.contains(.transport(bench.id, .accept(number, 0..<1000))) { break }
        }
        #expect(sources == [1, 0, 0, 1] && bench.transfer != nil)
    }

    /// Of two algorithms nobody can tell whether they are of one file: the URL's counts, after an interruption, too.
    @Test func thatOfTheURLCountsThoughItsMirrorTellsOneOfAnotherKind() {
        var bench = Bench.requesting(mirrors: 1)
        bench.feed(.exchange(bench.id, 1, .head(head(.file()))))
        bench.feed(.exchange(bench.id, 1, .failed(lost)))
        bench.closed(1)
        bench.opened(2)
        var answer = ResponseHead.file(tag: "\"b\"")
        answer.fields["Content-MD5"] = "BwcHBwcHBwcHBwcHBwcHBw=="
        bench.feed(.exchange(bench.id, 2, .head(answer)))
        #expect(bench.machine[bench.id]?.saved.version?.digest == digest)
    }

    /// Of what is in a content coding it says nothing.
    @Test func thatOfTheURLDoesNotCountForACodedBodyOfItsMirror() {
        let plain = Version(.file(tag: "\"a\""))
        var coded = ResponseHead.file(tag: "\"b\"")
        coded.fields["Content-Encoding"] = "gzip"
        #expect(plain.knowing(digest: digest).digest == digest && Version(coded).knowing(digest: digest).digest == nil)
    }

    /// With nothing but a digest to tell versions apart, a part of another one would be compared with the first one's.
    @Test func withNothingHeldAndNothingElseToTellByItIsForgotten() {
        let settings = Settings().with { $0.delivery = .sliced(100...100, inFlight: 1) }
        var bench = Bench.requesting(settings)
        bench.feed(.exchange(bench.id, 1, .head(head(.part(0..<100, of: 1000, tag: nil)))))
        bench.feed(.exchange(bench.id, 1, .failed(DownloadFailure(.transport(.connectionLost), ""))))
        bench.closed(1)
        bench.pass(.seconds(100))
        #expect(bench.opened(2).asks.map(\.held) == [nil])
    }

    @Test func anotherIsAnotherFile() {
        var bench = Bench.requesting()
        bench.feed(.exchange(bench.id, 1, .head(head(.file()))))
        bench.feed(.file(bench.id, 1, .wrote(0..<500)))
        bench.verb(.suspend)
        bench.closed(1, 0..<500)
        bench.verb(.start)
        bench.opened(2, 0..<500)
        var other = ResponseHead.part(500..<1000, of: 1000)
        other.fields["Repr-Digest"] = Self.field.replacing("Bw", with: "CA", maxReplacements: 1)
        #expect(bench.feed(.exchange(bench.id, 2, .head(other))).restarts == [.contentChanged])
    }
}
