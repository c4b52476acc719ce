import Foundation
import LannerCore
import LannerLoopback

/// Watches one exchange: writes down what comes, and tells of what must never be.
final class TransportWitness: Sendable {
    typealias Clause = TransportContract.Clause

    /// What has come so far.
    struct Record: Sendable {
        var head: ResponseHead?
        var byteCount = 0
        /// Where the first piece began that is not the resource's, of those that are compared.
        var firstWrong: Int?
        /// Each piece, and what was in it when it came.
        var pieces: [(kept: Data, copy: [UInt8])] = []
        var progress: [Int64] = []
        var file: [UInt8]?
        var isComplete = false
        var failure: TransportFailure?

        var isOver: Bool { isComplete || failure != nil }
        var fault: TransportFault? { failure?.fault }
        var isEmpty: Bool { head == nil && byteCount == 0 && progress.isEmpty && file == nil && !isOver }
        /// The body, however it came.
        var body: [UInt8] { file ?? pieces.flatMap(\.copy) }

        /// How it ended, for a sentence.
        var ending: String {
            if isComplete { return "`end`" }
            return failure.map { "`failure` with `\($0.fault)`" } ?? "nothing"
        }
    }

    private struct State {
        var record = Record()
        var events = 0
        var inside = 0
    }

    private let state = Locked(State())
    private let gauge = Gauge()
    private let findings: ContractFindings<Clause>
    private let delivery: TransportTraits.Delivery
    private let resource: LoopbackServer.Resource?
    private let leavesFile: Bool
    private let hook: @Sendable (TransportEvent) -> Void

    /// `hook` is called with each event, inside the call that brings it. A file is moved away, unless it is left. Pieces are
    /// compared with a resource instead of being kept where one is given: then there may be many.
    init(
        _ findings: ContractFindings<Clause>, _ delivery: TransportTraits.Delivery,
        comparing resource: LoopbackServer.Resource? = nil, leavesFile: Bool = false,
        hook: @escaping @Sendable (TransportEvent) -> Void = { _ in }
    ) {
        self.findings = findings
        self.delivery = delivery
        self.resource = resource
        self.leavesFile = leavesFile
        self.hook = hook
    }

    var record: Record { state.withLock { $0.record } }

    /// Returns what has come, once it satisfies the condition.
    @discardableResult
    func wait(for what: String, until isThere: @Sendable (Record) -> Bool) async throws -> Record {
        while true {
            let (record, events) = state.withLock { ($0.record, $0.events) }
            if isThere(record) { return record }
            try await NeverCame.unless(what) { [gauge] in try await gauge.wait(for: events + 1) }
        }
    }

    func receive(_ event: TransportEvent) {
        let file = Self.take(event, leavingIt: leavesFile)
        let breaches = state.withLock { state in
            defer {
                state.inside += 1
                state.events += 1
            }
            let overlap: [(Clause, String)] =
                state.inside > 0 ? [(.oneAtATime, "\(event.name) came while an earlier call was under way.")] : []
            return overlap + state.record.add(event, file, delivery, resource)
        }
        for (clause, detail) in breaches { findings.add(clause, detail) }
        gauge.raise()
        hook(event)
        state.withLock { $0.inside -= 1 }
    }

    /// Moves a file away, as a receiver does, and reads it.
    private static func take(_ event: TransportEvent, leavingIt: Bool) -> [UInt8]? {
        guard case .file(let url) = event else { return nil }
        if leavingIt { return try? [UInt8](Data(contentsOf: url)) }
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("contract-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }
        do {
            try FileManager.default.moveItem(at: url, to: place)
            return try [UInt8](Data(contentsOf: place))
        } catch {
            return nil
        }
    }
}

extension TransportWitness.Record {
    /// Adds an event; what is wrong with it at this point is the result.
    fileprivate mutating func add(
        _ event: TransportEvent, _ taken: [UInt8]?, _ delivery: TransportTraits.Delivery,
        _ resource: LoopbackServer.Resource?
    ) -> [(TransportContract.Clause, String)] {
        var breaches = isOver ? [afterEnding(event)] : misplacement(event, delivery).map { [(.order, $0)] } ?? []
        switch event {
        case .head(let head): self.head = self.head ?? head
        case .bytes(let data):
            if data.isEmpty { breaches.append((.emptyBody, "A piece without bytes came.")) }
            if let resource {
                let served = resource.bytes(in: Int64(byteCount)..<Int64(byteCount + data.count))
                if firstWrong == nil, data != Data(served) { firstWrong = byteCount }
            } else {
                pieces.append((data, [UInt8](data)))
            }
            byteCount += data.count
        case .progress(let count):
            if let last = progress.last, count < last {
                breaches.append((.progress, "Progress went back from \(last) to \(count)."))
            }
            progress.append(count)
        case .file:
            if taken == nil { breaches.append((.file, "The file could not be moved away.")) }
            file = file ?? taken
        case .end: isComplete = true
        case .failure(let failure): self.failure = self.failure ?? failure
        }
        return breaches
    }

    private func afterEnding(_ event: TransportEvent) -> (TransportContract.Clause, String) {
        switch event {
        case .end, .failure: (.oneEnding, "\(event.name) came after \(ending).")
        case .head, .bytes, .progress, .file: (.nothingAfter, "\(event.name) came after \(ending).")
        }
    }

    /// Why an event may not come at this point.
    private func misplacement(_ event: TransportEvent, _ delivery: TransportTraits.Delivery) -> String? {
        switch event {
        case .failure: nil
        case .head: head == nil ? nil : "A second head came."
        case .end: head == nil ? "`end` came without a head." : nil
        case .bytes:
            if delivery == .file { "Bytes came from a transport that hands over files." } else { late(event) }
        case .progress, .file:
            if delivery != .file { "\(event.name) came from a transport that delivers pieces." } else { late(event) }
        }
    }

    private func late(_ event: TransportEvent) -> String? {
        if head == nil { return "\(event.name) came before the head." }
        return file == nil ? nil : "\(event.name) came after the file."
    }
}

extension TransportEvent {
    /// For a sentence.
    fileprivate var name: String {
        switch self {
        case .head: "`head`"
        case .bytes: "`bytes`"
        case .progress: "`progress`"
        case .file: "`file`"
        case .end: "`end`"
        case .failure(let failure): "`failure` with `\(failure.fault)`"
        }
    }
}
