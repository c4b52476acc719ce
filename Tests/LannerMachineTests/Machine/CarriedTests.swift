import LannerMachine
import Testing

/// Files that the transport hands over, after it has gone on with what it held of them.
@Suite struct CarriedTests {
    /// The transport has gone on from byte 400 with an answer for the rest, and hands over the file.
    private static func handingOver(end: Int64) -> Bench {
        var bench = resumed(at: 400)
        bench.feed(.file(bench.id, 1, .wrote(0..<end)))
        return bench
    }

    /// The transport held 400 bytes, and the answer goes on at a position.
    private static func resumed(at position: Int64) -> Bench {
        var settings = Settings()
        settings.takesResumeData = true
        var saved = Saved(status: .suspended)
        saved.total = 1000
        let tag = EntityTag("\"a\"")
        saved.version = Version(entityTag: tag, lastModified: nil, isLastModifiedStrong: false, total: 1000)
        saved.generation = 1
        saved.resumeData = ResumeData([1], held: 400)
        return Bench.transferring(settings, saved: saved, head: .part(position..<1000, of: 1000))
    }

    /// What it leaves when it is stopped after 700 bytes more.
    private static func left(by bench: Bench) -> (actions: [Action], data: ResumeData?) {
        var bench = bench
        bench.feed(.exchange(bench.id, 1, .holds(930)))
        bench.verb(.suspend)
        bench.feed(.exchange(bench.id, 1, .resumeData([2])))
        let actions = bench.closed(1, 0..<0)
        return (actions, bench.machine[bench.id]?.saved.resumeData)
    }

    @Test func whatIsLeftOfItIsGoneOnWith() {
        #expect(Self.left(by: Self.resumed(at: 400)).data == ResumeData([2], held: 930))
        // Some bytes more than were told have come before it broke off.
        var bench = Self.resumed(at: 431)
        bench.feed(.exchange(bench.id, 1, .holds(431)))
        #expect(Self.left(by: bench).data == ResumeData([2], held: 930))
    }

    /// A later process takes the exchange up, and is not told again where its answer goes on.
    @Test func whereItMeetsIsOnRecord() {
        var bench = Self.resumed(at: 431)
        let actions = bench.feed(.exchange(bench.id, 1, .holds(431)))
        #expect(actions.records.map(\.resumeData) == [ResumeData([1], held: 431)])
        #expect(bench.feed(.exchange(bench.id, 1, .holds(930))).records == [])
    }

    /// It may have a gap where the answer goes on, which nobody would see in the end.
    @Test func whatIsLeftOfItMayNotMeet() {
        let left = Self.left(by: Self.resumed(at: 431))
        #expect(left.data == nil)
        #expect(left.actions.contains(.tell(.init(1), .restarted(.cannotResume))))
    }

    @Test func countsOnceItsLengthIsRight() {
        var bench = Self.handingOver(end: 1000)
        bench.feed(.exchange(bench.id, 1, .ended(received: 1000)))
        guard case .verifying = bench.state else { return #expect(bench.state == nil, "it is verified") }
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges([0..<1000]))
    }

    @Test func countsForNothingInARecordBefore() {
        let bench = Self.handingOver(end: 987)
        #expect(bench.machine[bench.id]?.saved.written == ByteRanges())
        #expect(bench.machine[bench.id]?.saved.synced == ByteRanges())
    }

    @Test func countsForNothingWhenItIsStoppedBefore() {
        var bench = Self.handingOver(end: 987)
        let generation = bench.machine[bench.id]?.saved.generation
        bench.verb(.suspend)
        let actions = bench.closed(1, 0..<987)
        #expect(bench.state == .suspended)
        #expect(actions.contains(.tell(bench.id, .restarted(.cannotResume))))
        let saved = bench.machine[bench.id]?.saved
        #expect(saved?.written == ByteRanges())
        #expect(saved?.generation != generation, "other bytes go to another file")
        bench.verb(.start)
        bench.feed(.file(bench.id, 2, .opened(held: ByteRanges())))
        #expect(bench.machine[bench.id]?.saved.resumeData == nil)
    }

    /// What an exchange of an earlier process has left is kept, and gone on with, by whoever rests or waits.
    @Test func isInherited() {
        var bench = Bench.resting()
        var settings = Settings()
        settings.takesResumeData = true
        bench.feed(.settings(settings))
        let actions = bench.feed(.inherit(bench.id, Legacy([7], held: 400)))
        #expect(actions.contains(.tell(bench.id, .progress(completed: 400, total: nil))))
        #expect(bench.machine[bench.id]?.saved.resumeData == ResumeData([7], held: 400))
        bench.verb(.start)
        let opened = bench.feed(.file(bench.id, bench.machine[bench.id]?.attempt ?? 0, .opened(held: ByteRanges())))
        let asks = opened.compactMap { action -> Ask? in
            if case .transport(_, .begin(_, let ask)) = action { ask } else { nil }
        }
        #expect(asks.map(\.resumeData) == [[7]])
    }

    /// Without an answer, an exchange leaves what it began with; less than that is told as a loss.
    @Test(arguments: [(nil, 400), (700, 700), (0, 0), (399, 399)] as [(Int64?, Int64)])
    func isInheritedForWhatItStandsFor(_ held: Int64?, _ kept: Int64) {
        var bench = Bench.resting(saved: Saved(status: .suspended, resumeData: ResumeData([1], held: 400)))
        let actions = bench.feed(.inherit(bench.id, Legacy([2], held: held)))
        #expect(bench.machine[bench.id]?.saved.resumeData == ResumeData([2], held: kept))
        #expect(actions.contains(.tell(bench.id, .restarted(.cannotResume))) == (kept < 400))
    }

    @Test(arguments: [(nil, 700), (400, 700), (431, nil)] as [(Int64?, Int64?)])
    func isInheritedWhereItMeets(_ joint: Int64?, _ held: Int64?) {
        var bench = Bench.resting(saved: Saved(status: .suspended, resumeData: ResumeData([1], held: 400)))
        let actions = bench.feed(.inherit(bench.id, Legacy([2], held: 700, joint: joint)))
        #expect(bench.machine[bench.id]?.saved.resumeData?.held == held)
        #expect(actions.contains(.tell(bench.id, .restarted(.cannotResume))) == (held == nil))
    }

    @Test func isNotInheritedByWhoHasBytes() {
        var bench = Bench.resting(
            saved: Saved(status: .suspended, generation: 1, written: ByteRanges([0..<10])))
        let actions = bench.feed(.inherit(bench.id, Legacy([7], held: 400)))
        #expect(actions == [.ignored(bench.id, .late("inherit"))])
    }
}
