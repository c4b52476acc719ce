import LannerCore
import LannerMachine
import LannerTesting
import Testing

/// The store that fails and waits as it is told. What it does without faults is in its contract tests.
@Suite struct FaultyStoreTests {
    private let lanes = ManualLanes()
    private let inner: MemoryStore
    private let store: FaultyStore
    private let reports = Reports()

    init() {
        inner = MemoryStore([:], lanes: lanes)
        store = FaultyStore(inner)
    }

    private func commit(_ id: Int) {
        store.commit([.put("\(id)", "x")], durability: .process) { [reports] in reports.report(id, $0) }
    }

    private var keys: [String] { inner.contents.keys.sorted() }

    @Test func failsByPlanAndInTurn() {
        store.fail(.commit, with: .disk(.inputOutput), skipping: 1, times: 2)
        for id in 0..<4 { commit(id) }
        #expect(reports.ids.isEmpty, "nothing is reported inside a commit")
        lanes.runAll()
        #expect(reports.ids == [0, 1, 2, 3])
        #expect(reports.reasons == [nil, .disk(.inputOutput), .disk(.inputOutput), nil])
        #expect(keys == ["0", "3"], "what fails changes nothing")
    }

    @Test func tellsWhichFailuresHaveNotHappened() {
        store.fail(.commit, times: .max)
        store.fail(.load)
        #expect(store.unusedFaults == [.commit, .load])
        commit(1)
        lanes.runAll()
        #expect(store.unusedFaults == [.load])
    }

    @Test(arguments: [0, -1]) func failsNoTimes(times: Int) {
        store.fail(.commit, times: times)
        commit(1)
        lanes.runAll()
        #expect(reports.reasons == [nil])
    }

    @Test func takesPlansBack() {
        store.fail(.commit, times: .max)
        store.failNothing()
        commit(1)
        lanes.runAll()
        #expect(reports.reasons == [nil])
    }

    @Test func failsToLoad() throws {
        store.fail(.load, with: .unknownVersion)
        #expect(throws: StoreError.self) { try store.load() }
        #expect(try store.load() == StoreContents())
    }

    @Test func holdsAndLetsGoInOrder() {
        store.hold()
        for id in 0..<4 { commit(id) }
        lanes.runAll()
        #expect((store.held, reports.ids, keys) == (4, [], []))
        store.release(1)
        commit(4)
        lanes.runAll()
        #expect((store.held, reports.ids) == (4, [0]))
        store.release()
        commit(5)
        lanes.runAll()
        #expect((store.held, reports.ids) == (0, [0, 1, 2, 3, 4, 5]))
    }

    @Test func closingFinishesWhatIsHeld() {
        store.hold()
        commit(1)
        store.close()
        commit(2)
        lanes.runAll()
        #expect(reports.reasons == [nil, .closed])
        #expect(keys == ["1"])
    }

    @Test func whatIsHeldDiesWithTheProcess() throws {
        let bench = TestBench.serving(large)
        bench.store.hold()
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .running)
        #expect(bench.store.held > 0)
        bench.relaunch()
        #expect(bench.manager.tasks.isEmpty)
        #expect(bench.store.held == 0)
    }

    @Test func plannedFailuresOutliveTheProcess() {
        let bench = TestBench()
        bench.store.fail(.load, with: .disk(.inputOutput))
        #expect(bench.manager.unavailable == nil)
        bench.relaunch()
        guard case .storeError(let error) = bench.manager.unavailable else {
            return #expect(Bool(false), "\(String(describing: bench.manager.unavailable))")
        }
        #expect(error.reason == .disk(.inputOutput))
        bench.relaunch()
        #expect(bench.manager.unavailable == nil)
    }
}
