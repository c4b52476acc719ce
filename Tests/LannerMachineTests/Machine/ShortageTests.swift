import LannerMachine
import Testing

/// A program that may have so many more files open; each download that runs has one.
private struct Program: SelfAnswering {
    var bench: Bench
    var wakes: [Duration] = []
    var mayOpen: Int
    private(set) var open: Set<DownloadID> = []
    private(set) var refusals = 0
    private(set) var mostOpen = 0

    init(_ count: UInt64, mayOpen: Int, settings: Settings = Settings()) {
        self.mayOpen = mayOpen
        bench = Bench(settings)
        begin(count, host: { _ in .unknown })
    }

    mutating func handle(_ action: Action) -> Bool {
        switch action {
        case .file(let id, let attempt, .open):
            open(id, attempt)
            return true
        case .file(let id, _, .close), .file(let id, _, .publish): open.remove(id)
        default: break
        }
        return false
    }

    private mutating func open(_ id: DownloadID, _ attempt: Attempt) {
        guard open.count < mayOpen else {
            refusals += 1
            return feed(.file(id, attempt, .failed(DownloadFailure(.disk(.tooManyFiles), ""))))
        }
        open.insert(id)
        mostOpen = max(mostOpen, open.count)
        feed(.file(id, attempt, .opened(held: ByteRanges())))
    }

    /// All that is asked for comes at once; then the next wake does.
    mutating func turn() {
        for id in open.sorted() {
            guard case .opening(let opening)? = bench.machine[id]?.state, case .request(let exchange) = opening.step
            else { continue }
            feed(.exchange(id, exchange.number, .head(.file())))
            feed(.file(id, bench.machine[id]?.attempt ?? 0, .wrote(0..<1000)))
            feed(.exchange(id, exchange.number, .ended(received: 1000)))
        }
        _ = passToWake()
    }

    mutating func run(_ turns: Int) { for _ in 0..<turns { turn() } }

    func count(where isCounted: (Phase) -> Bool, of count: UInt64) -> Int {
        (1...count).count { bench.machine[DownloadID($0)].map { isCounted($0.phase) } ?? false }
    }
}

/// Too many files are open, of which nobody knows whose.
@Suite struct ShortageTests {
    private func succeeded(_ program: Program, of count: UInt64) -> Int {
        program.count(where: { $0 == .succeeded }, of: count)
    }

    private func failed(_ program: Program, of count: UInt64) -> Int {
        program.count(where: { if case .failed = $0 { true } else { false } }, of: count)
    }

    @Test(arguments: [1, 2, 5]) func fewerRunThenAndNoneFails(files: Int) {
        var program = Program(300, mayOpen: files)
        program.run(2000)
        #expect(succeeded(program, of: 300) == 300)
        #expect(program.mostOpen == files)
    }

    /// The rest of the queue is not tried and given up meanwhile, one after the other.
    @Test func whileNoneMayBeOpenedHardlyAnyIsTried() {
        var program = Program(300, mayOpen: 0)
        for _ in 0..<10_000 where program.bench.now < .seconds(60) { program.turn() }
        #expect(program.refusals <= 15)
        let failed = failed(program, of: 300)
        #expect(failed <= 1)
        program.mayOpen = 100
        program.run(1000)
        #expect(succeeded(program, of: 300) == 300 - failed)
    }

    @Test func oneThatIsAloneFailsInTheEnd() {
        var program = Program(1, mayOpen: 0)
        program.run(100)
        #expect(program.refusals == 6 && failed(program, of: 1) == 1)
    }

    @Test func withoutRetriesOneThatIsAloneFailsAtOnce() {
        var program = Program(1, mayOpen: 0, settings: Settings().with { $0.retry = .never })
        #expect(program.refusals == 1 && failed(program, of: 1) == 1)
        // Whoever starts it again does not wait.
        program.mayOpen = 1
        let actions = program.bench.feed(.user(.start, [DownloadID(1)], nil))
        #expect(actions.contains { if case .file(_, _, .open) = $0 { true } else { false } })
    }

    /// Others close theirs, and none has to be fetched that is there.
    @Test func oneThatCannotBeMovedIsLater() {
        var bench = Bench.moving()
        let failure = DownloadFailure(.disk(.tooManyFiles), "")
        let actions = bench.feed(.file(bench.id, 1, .unconfirmed(failure)))
        #expect(actions.records.map(\.isPublished) == [true])
        guard case .waiting(.retry(let time))? = bench.phase else {
            Issue.record("it does not wait")
            return
        }
        #expect(bench.pass(time).contains(.file(bench.id, 2, .publish)))
    }

    @Test func moreAndMoreRunAgain() {
        var program = Program(300, mayOpen: 2, settings: Settings().with { $0.maximumRunning = 20 })
        program.run(20)
        program.mayOpen = 1000
        for _ in 0..<10_000 where succeeded(program, of: 300) < 300 { program.turn() }
        #expect(succeeded(program, of: 300) == 300 && program.mostOpen >= 10)
    }
}
