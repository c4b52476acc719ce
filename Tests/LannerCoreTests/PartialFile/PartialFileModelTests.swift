import LannerCore
import LannerMachine
import LannerTesting
import Testing

/// Random lives of a file: bytes that come in any order and more than once, checkpoints, faults, lanes in every order,
/// closed at any moment and taken up again from what was reported, until the file is finished.
@Suite struct PartialFileModelTests {
    @Test(arguments: 0..<150 as Range<UInt64>)
    func everyLifeEndsWithTheRightFile(seed: UInt64) {
        var world = World(seed: seed)
        while !world.isFinished, world.lives < 50 { world.live() }
        #expect(world.isFinished, "seed \(seed)")
        #expect(world.contents == Sample.bytes(world.total), "seed \(seed)")
    }
}

private struct World {
    let total: Int64
    private(set) var lives = 0
    private(set) var isFinished = false
    private let disk = MemoryDisk()
    private let truth: TruthfulDisk
    private let memory = LiveMemory()
    private let seed: UInt64
    private let backlogLimit: Int
    private var random: SeededGenerator
    private var written = ByteRanges()
    private var synced = ByteRanges()

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        total = Int64.random(in: 0...20_000, using: &random)
        backlogLimit = Int.random(in: 0...5, using: &random) * 1000
        truth = TruthfulDisk(disk)
        disk.put([], at: "/Tmp/.here")
    }

    var contents: [UInt8]? { disk.contents(of: PartialFileBench.path) }

    /// From open to closed.
    mutating func live() {
        lives += 1
        let (lanes, load) = (ManualLanes(), WriteLoad())
        let log = Locked<[PartialFileEvent]>([])
        let file = PartialFile(
            path: PartialFileBench.path, fileSystem: truth, lanes: PartialFile.Lanes(lanes), hasher: FNV64(),
            claimed: written, durable: synced, load: load, backlogLimit: backlogLimit
        ) { event in
            log.withLock { $0.append(event) }
        }
        file.open(total: Bool.random(using: &random) ? total : nil)
        // Not every life has faults, so that the last one comes.
        if lives % 3 == 0 { plan() }
        transfer(into: file, lanes)
        let mayFinish = Int.random(in: 0..<4, using: &random) > 0
        if mayFinish { file.finish(total: total) }
        run(lanes, atMost: Int.random(in: 0..<200, using: &random))
        file.close(sync: Bool.random(using: &random), dropping: Int.random(in: 0..<4, using: &random) == 0)
        run(lanes, atMost: .max)
        disk.failNothing()
        check(log.withLock { $0 })
        #expect(file.outstanding == 0 && load.waiting == 0, "seed \(seed)")
        #expect(memory.pieces == 0, "seed \(seed)")
    }

    private mutating func plan() {
        let faults: [(MemoryDisk.Operation, DiskFault)] = [
            (.write, .noSpace), (.sync, .inputOutput), (.read, .inputOutput), (.truncate, .inputOutput),
            (.open, .tooManyFiles),
        ]
        guard let (operation, fault) = faults.randomElement(using: &random) else { return }
        disk.fail(operation, with: fault, skipping: Int.random(in: 0..<6, using: &random))
    }

    /// What is missing, in some order, with repetitions; sometimes given up half way.
    private mutating func transfer(into file: PartialFile, _ lanes: ManualLanes) {
        var ranges = self.ranges()
        if Bool.random(using: &random) { ranges.shuffle(using: &random) }
        if Int.random(in: 0..<4, using: &random) == 0 { ranges.removeLast(ranges.count / 2) }
        for range in ranges {
            file.write(Sample.chunk(range, counting: memory), at: range.lowerBound)
            if Int.random(in: 0..<5, using: &random) == 0 { file.checkpoint() }
            run(lanes, atMost: Int.random(in: 0..<4, using: &random))
        }
    }

    private mutating func ranges() -> [Range<Int64>] {
        var ranges: [Range<Int64>] = []
        var position: Int64 = 0
        while let gap = written.firstGap(from: position, below: total) {
            position = min(gap.upperBound, gap.lowerBound + Int64.random(in: 1...1000, using: &random))
            let early = Int64.random(in: 0..<10, using: &random) == 0 ? gap.lowerBound / 2 : gap.lowerBound
            ranges.append(max(early, position - 1000)..<position)
        }
        return ranges
    }

    private mutating func run(_ lanes: ManualLanes, atMost limit: Int) {
        var steps = 0
        while steps < limit, lanes.runAny(using: &random) {
            steps += 1
        }
    }

    /// The oracle: the order of the events, and whether what they claim is true.
    private mutating func check(_ events: [PartialFileEvent]) {
        var rest = events[...]
        guard case .closed(let written, let synced) = rest.popLast() else {
            Issue.record("seed \(seed): not closed at the end")
            return
        }
        if case .failed(let error) = rest.last {
            #expect(error.operation != TruthfulDisk.earlyRead, "seed \(seed)")
            rest.removeLast()
        }
        for (index, event) in rest.enumerated() {
            switch event {
            case .opened(let held):
                #expect(index == 0 && truth.kernel.contains(all: held), "seed \(seed)")
            case .wrote(let range):
                #expect(index > 0 && truth.kernel.contains(range), "seed \(seed)")
            case .synced(let ranges):
                #expect(truth.device.contains(all: ranges), "seed \(seed)")
            case .finished(let digest):
                isFinished = true
                #expect(index == rest.count - 1 && digest == FNV64.digest(of: Sample.bytes(total)), "seed \(seed)")
            case .damaged, .failed, .closed:
                Issue.record("seed \(seed): \(event) before the end")
            }
        }
        #expect(truth.kernel.contains(all: written), "seed \(seed)")
        #expect(truth.device.contains(all: synced), "seed \(seed)")
        #expect(written.contains(all: synced), "seed \(seed)")
        self.written = written
        self.synced = synced
    }
}

extension ByteRanges {
    fileprivate func contains(all other: ByteRanges) -> Bool {
        other.ranges.allSatisfy(contains)
    }
}
