import Dispatch
import Foundation
import LannerCore
import LannerCurl
import LannerTesting
import Testing

/// What breaks a contract is caught, by the name of the clause.
@Suite(.timeLimit(.minutes(10)))
struct SensitivityTests {
    @Test(arguments: Flaw.all)
    func transport(flaw: Flaw) async {
        // Little patience: where something has to come and does not, that is what is looked for.
        let violations = await TransportContract.check(
            waiving: Self.all(but: flaw.clause), patience: .milliseconds(500)
        ) {
            .init(ScriptedTransport(), inside: flaw.breakIt)
        }
        #expect(violations.map(\.clause) == [flaw.clause], "\(violations)")
    }

    @Test func aTransportThatForgetsItsSurvivors() async {
        let traits = TransportTraits(delivery: .file, hasResumeData: true, outlivesProcess: true)
        let violations = await TransportContract.check(patience: .milliseconds(500)) {
            .init(ScriptedTransport(traits: traits)) { BrokenTransport($0) { event, receive in receive(event) } }
        }
        let clauses: Set<TransportContract.Clause> = [.survivor, .survivorEnded, .survivorCanceled, .discard]
        #expect(Set(violations.map(\.clause)).isSuperset(of: clauses), "\(violations)")
    }

    private static let files = TransportTraits(delivery: .file, hasResumeData: true)

    @Test func aTransportThatWritesIntoTheFileItHandedOver() async {
        let violations = await TransportContract.check {
            .init(ScriptedTransport(traits: Self.files)) { transport in
                BrokenTransport(transport) { event, receive in
                    receive(event)
                    if case .file(let url) = event { try? FileHandle(forWritingTo: url).truncate(atOffset: 1) }
                }
            }
        }
        #expect(violations.map(\.clause) == [.file], "\(violations)")
    }

    @Test func aTransportThatDoesNotTellWhatItGoesOnWith() async {
        let violations = await TransportContract.check {
            .init(ScriptedTransport(traits: Self.files)) { transport in
                BrokenTransport(transport) { event, receive in
                    if case .progress(let count) = event, count < 1_500_000 {
                        receive(.progress(count + 1))
                    } else {
                        receive(event)
                    }
                }
            }
        }
        #expect(violations.map(\.clause) == [.resume], "\(violations)")
    }

    /// It would seem silent for most of the time.
    @Test func aTransportWhoseProgressComesToAnEnd() async {
        let violations = await TransportContract.check {
            .init(ScriptedTransport(traits: Self.files)) { transport in
                BrokenTransport(transport) { event, receive in
                    if case .progress(let count) = event { receive(.progress(min(count, 100))) } else { receive(event) }
                }
            }
        }
        #expect(violations.map(\.clause).contains(.progress), "\(violations)")
    }

    @Test func aTransportThatCannotBeMade() async {
        struct Refusal: Error {}
        let violations = await TransportContract.check(make: { throw Refusal() })
        #expect(violations.count == TransportContract.Clause.allCases.count)
    }

    @Test func waivedClausesAreLeftOut() async throws {
        let flaw = try #require(Flaw.all.first { $0.clause == .redirect })
        let violations = await TransportContract.check(waiving: [.redirect: "A test."]) {
            .init(ScriptedTransport(), inside: flaw.breakIt)
        }
        #expect(violations == [])
    }

    /// Nor where they show while another clause is tried.
    @Test func waivedClausesAreNotReported() async throws {
        let flaw = try #require(Flaw.all.first { $0.clause == .oneEnding })
        let violations = await TransportContract.check(waiving: [.oneEnding: "A test."]) {
            .init(ScriptedTransport(), inside: flaw.breakIt)
        }
        #expect(violations == [])
    }

    /// Patience is for what has to come, not for what else takes the clause's time, such as other tests.
    @Test func whatIsSlowByItselfIsNoViolation() async {
        let violations = await TransportContract.check(waiving: Self.all(but: .oneEnding), patience: .seconds(3)) {
            Thread.sleep(forTimeInterval: 3.5)
            return .init(ScriptedTransport())
        }
        #expect(violations == [])
    }

    private static func all(but clause: TransportContract.Clause) -> [TransportContract.Clause: String] {
        let others = TransportContract.Clause.allCases.filter { $0 != clause }
        return Dictionary(uniqueKeysWithValues: others.map { ($0, "A test.") })
    }

    /// What only a server sees.
    @Test func aTransportThatReadsOnWhilePaused() async {
        let violations = await TransportContract.check(waiving: Self.all(but: .pause)) {
            AlteredTransport.greedy(try CurlTransport())
        }
        #expect(violations.map(\.clause) == [.pause], "\(violations)")
    }

    @Test func aTransportThatReadsOnWhenCanceled() async {
        let violations = await TransportContract.check(waiving: Self.all(but: .cancelInBody)) {
            AlteredTransport.idle(try CurlTransport())
        }
        #expect(violations.map(\.clause) == [.cancelInBody], "\(violations)")
    }

    @Test func aTransportWhoseTimeoutIsForAll() async {
        let violations = await TransportContract.check(waiving: Self.all(but: .timeout)) {
            AlteredTransport.hurried(try CurlTransport())
        }
        #expect(violations.map(\.clause) == [.timeout], "\(violations)")
    }

    private static let ownPlace: [StoreContract.Clause: String] = [.taken: "Each store has memory of its own."]

    /// Stores of a kind, opened on one place in memory.
    private static func stores(_ make: @escaping @Sendable (MemoryStore) -> any Store) -> @Sendable () -> any Store {
        let last = Locked(MemoryStore())
        return {
            last.withLock { store in
                store = MemoryStore(store.contents)
                return make(store)
            }
        }
    }

    @Test func aStoreWhereWhatIsUrgentOvertakes() async {
        let violations = await StoreContract.check(waiving: Self.ownPlace) {
            Self.stores { OvertakingStore($0) }
        }
        #expect(violations.map(\.clause) == [.completions], "\(violations)")
    }

    @Test func aStoreThatReportsAtOnceAndKeepsNothing() async {
        let violations = await StoreContract.check(patience: .seconds(5)) { { HastyStore() } }
        let clauses = Set(violations.map(\.clause))
        #expect(
            clauses.isSuperset(of: [.kept, .inUse, .taken, .anything, .order, .notInside, .close, .closed, .model]))
        #expect(clauses.isDisjoint(with: [.empty]))
    }

    /// As a database does whose comparison of texts is not by their characters.
    @Test func aStoreThatTakesLettersForTheSame() async {
        let violations = await StoreContract.check(waiving: Self.ownPlace) { Self.stores { FoldingStore($0) } }
        #expect(violations.map(\.clause) == [.anything], "\(violations)")
    }

    /// What is found is told, though calls into it never return.
    @Test func aTransportThatCallsUnderItsLock() async {
        let violations = await TransportContract.check(patience: .seconds(2)) {
            .init(ScriptedTransport()) { LockingTransport($0) }
        }
        let clauses: Set<TransportContract.Clause> = [
            .beginInside, .others, .callsWhileBlocked, .cancelInside, .cancelWhileBlocked, .invalidateWhileBlocked,
            .invalidateInside, .pause, .endWhilePaused,
        ]
        #expect(Set(violations.map(\.clause)) == clauses, "\(violations)")
    }

    @Test func aTransportThatDeliversOnOneQueue() async {
        let violations = await TransportContract.check(patience: .seconds(2)) {
            .init(ScriptedTransport()) { transport in
                let queue = DispatchQueue(label: "lanner.one-queue")
                return BrokenTransport(transport) { event, receive in queue.async { receive(event) } }
            }
        }
        #expect(violations.map(\.clause) == [.others], "\(violations)")
    }

    @Test func aStoreThatCallsUnderItsLock() async {
        let violations = await StoreContract.check(waiving: Self.ownPlace, patience: .seconds(2)) {
            let last = Locked(LockingStore([:]))
            return {
                last.withLock { store in
                    store = LockingStore(store.contents)
                    return store
                }
            }
        }
        #expect(Set(violations.map(\.clause)) == [.notInside, .atOnce, .inside], "\(violations)")
    }

    @Test func aStoreWhoseCompletionsHoldUpCommits() async {
        let violations = await StoreContract.check(waiving: Self.ownPlace, patience: .seconds(2)) {
            let last = Locked(LockingStore([:]))
            return {
                last.withLock { store in
                    store = LockingStore(store.contents, on: DispatchQueue(label: "completions"))
                    return store
                }
            }
        }
        #expect(Set(violations.map(\.clause)) == [.atOnce, .inside], "\(violations)")
    }

    @Test func aClockThatCallsUnderItsLock() async {
        let violations = await ClockContract.check(
            patience: .seconds(2), make: { LockingClock() }, pass: { $0.advance(by: $1) })
        #expect(Set(violations.map(\.clause)) == [.notBefore, .inside], "\(violations)")
    }

    @Test func aHasherThatSeesCuts() {
        let violations = HasherContract.check(vectors: ["ab": "00"]) { CallHasher() }
        #expect(Set(violations.map(\.clause)).isSuperset(of: [.vectors, .cuts, .oneByOne, .empty, .everyByte]))
    }

    @Test func aHasherThatTakesNoMoreThanAPage() {
        let violations = HasherContract.check(vectors: [:]) { PageHasher() }
        #expect(violations.map(\.clause) == [.cuts])
    }

    @Test func hashersThatShareOneState() {
        let shared = Locked(Checksum.Algorithm.md5.makeHasher())
        let violations = HasherContract.check(vectors: [:]) { SharingHasher(shared) }
        #expect(violations.map(\.clause) == [.apart], "\(violations)")
    }

    @Test func aClockThatCallsAtOnce() async {
        let violations = await ClockContract.check(make: { HastyClock() })
        #expect(Set(violations.map(\.clause)) == [.notBefore, .notInside, .far])
    }
}

private final class HastyStore: Store {
    func load() throws -> StoreContents { StoreContents() }
    func close() {}

    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        completion(.success(()))
    }
}

/// Writes what has come meanwhile together, what has to survive the machine first.
private final class OvertakingStore: Store {
    private typealias Commit = (
        changes: [StoreChange], durability: StoreDurability, completion: @Sendable (Result<Void, StoreError>) -> Void
    )

    private let store: MemoryStore
    private let queue = DispatchQueue(label: "lanner.overtaking")
    private let waiting = Locked<[Commit]>([])

    init(_ store: MemoryStore) {
        self.store = store
    }

    func load() throws -> StoreContents { try store.load() }

    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        waiting.withLock { $0.append((changes, durability, completion)) }
        queue.async { self.write() }
    }

    private func write() {
        let batch = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        if batch.isEmpty { return }
        let sorted = batch.filter { $0.durability == .machine } + batch.filter { $0.durability == .process }
        store.commit(sorted.flatMap(\.changes), durability: .machine) { result in
            for commit in batch { commit.completion(result) }
        }
    }

    func close() {
        queue.sync { write() }
        store.close()
    }
}

/// Counts calls instead of hashing bytes.
private struct CallHasher: Checksum.Hasher {
    private var calls: UInt8 = 0
    mutating func update(_ bytes: UnsafeRawBufferPointer) { calls &+= 1 }
    func digest() -> [UInt8] { [calls] }
}

/// Loses what goes beyond 64 KiB in one call.
private struct PageHasher: Checksum.Hasher {
    private var hasher = Checksum.Algorithm.md5.makeHasher()

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        hasher.update(UnsafeRawBufferPointer(rebasing: bytes.prefix(64 << 10)))
    }

    func digest() -> [UInt8] { hasher.digest() }
}

/// Begins anew with each hasher, and has one state for all.
private struct SharingHasher: Checksum.Hasher {
    private let state: Locked<any Checksum.Hasher>

    init(_ state: Locked<any Checksum.Hasher>) {
        self.state = state
        state.withLock { $0 = Checksum.Algorithm.md5.makeHasher() }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) { state.withLock { $0.update(bytes) } }
    func digest() -> [UInt8] { state.withLock { $0.digest() } }
}

private final class HastyClock: SessionManager.Clock {
    private let clock = SystemClock()
    var now: Duration { clock.now }
    var date: Date { clock.date }
    func schedule(at deadline: Duration, _ work: @escaping @Sendable () -> Void) { work() }
}

private final class FoldingStore: Store {
    private let store: MemoryStore

    init(_ store: MemoryStore) {
        self.store = store
    }

    func load() throws -> StoreContents { try store.load() }
    func close() { store.close() }

    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        let changes = changes.map { change -> StoreChange in
            switch change {
            case .put(let key, let value): .put(key: key.lowercased(), value: value)
            case .remove(let key): .remove(key: key.lowercased())
            }
        }
        store.commit(changes, durability: durability, completion: completion)
    }
}
