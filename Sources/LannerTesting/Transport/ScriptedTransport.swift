import Foundation
import LannerCore
import LannerLoopback
import LannerMachine

/// A transport without a network: a test says what each request gets, and looks at what was requested.
///
/// What is served at a path is served as a good server would: with validators, ranges and `If-Range`, in the words of
/// ``LoopbackServer``. A script says how the next requests of a path go otherwise, one step for each. A path where
/// nothing is served answers 404.
///
/// ```swift
/// transport.serve(.init(bytes), at: "/file.zip")
/// transport.script("/file.zip", .cut(afterBytes: 1000), .status(503))  // then as it should be
/// ```
///
/// A place is a path (`"/file.zip"`, on every host, whatever the query, also without the slash at its beginning, with its
/// percent-encoding or without) or a whole URL, which goes first.
///
/// There are no threads: events are delivered inside ``begin(_:receive:)``, ``release(_:bytes:)``,
/// ``fail(_:with:)`` and the methods of the exchange, on the caller's thread, never under a lock. The contract of
/// `Transport` is kept to the letter, but where a script gives an answer another length than its body has, by
/// ``Step/exactly(_:body:)`` or ``Step/fields(_:)``: that is not noticed.
///
/// With `TransportTraits.outlivesProcess` exchanges with a name are kept as a system keeps them (those with credentials
/// are not, see ``trustsRedirects``): they go on when the process ends
/// (``TestBench/relaunch(configuration:store:meanwhile:)``), and are taken up by the next one. A test may
/// ``release(_:bytes:)`` or ``fail(_:with:)`` them meanwhile, or end them all as a user does, by ``forceQuit()``.
///
/// Where the same part of a URL is requested ten thousand times while the clock stands still, the process ends with a
/// sentence that says so: it would be requested for ever. Without a clock that is not noticed.
///
/// Every method may be called on any thread, also from inside `receive`.
public final class ScriptedTransport: Transport {
    /// What the transport claims to be.
    public let traits: TransportTraits

    let state: Locked<State>
    private let begun: Gauge
    let isInvalidated = Locked(false)
    private let clock: (any SessionManager.Clock)?
    private let pieceLength: Int

    /// A transport that serves nothing yet.
    ///
    /// - Parameters:
    ///   - traits: What it is. A body goes in pieces, or is handed over as a file with progress on the way; with
    ///     `hasResumeData` an exchange that breaks off inside its body leaves data that the next one may go on with.
    ///   - pieceLength: How many bytes each piece has at most.
    ///   - clock: What the `Date` of answers goes by; a day of 2025 when nil.
    public init(
        traits: TransportTraits = TransportTraits(delivery: .pausable), pieceLength: Int = 16 << 10,
        clock: (any SessionManager.Clock)? = nil
    ) {
        self.traits = traits
        self.pieceLength = max(1, pieceLength)
        self.clock = clock
        state = Locked(State())
        begun = Gauge()
    }

    private init(after last: ScriptedTransport) {
        (traits, pieceLength, clock, state, begun) = (last.traits, last.pieceLength, last.clock, last.state, last.begun)
    }

    /// The transport that the next process makes: it serves the same, by the same script, and finds the exchanges that
    /// this one has left.
    public func successor() -> ScriptedTransport {
        ScriptedTransport(after: self)
    }

    // MARK: What is where

    /// Puts a resource at a place, in the stead of what was there; nil takes it away.
    public func serve(_ resource: LoopbackServer.Resource?, at place: String) {
        state.withLock { $0.reception.serve(resource, at: State.normalized(place)) }
    }

    /// Puts a resource at every place that has none of its own; nil takes it away.
    public func serveElsewhere(_ resource: LoopbackServer.Resource?) {
        state.withLock { $0.reception.serveElsewhere(resource) }
    }

    /// Says how the next requests of a place go, one step for each, after those that are scripted already.
    public func script(_ place: String, _ steps: Step...) {
        state.withLock { $0.scripts[State.normalized(place), default: []] += steps }
    }

    /// Says how every request of a place goes that no script is left for; nil for as it should be.
    public func always(_ place: String, _ step: Step?) {
        state.withLock { $0.standing[State.normalized(place)] = step.map { Standing(step: $0) } }
    }

    /// Steps that no request has taken, by place as it is compared: those of scripts, and one for ``always(_:_:)`` that
    /// has not held for any request. A test that is at its end has none left, unless it means another place.
    public var unusedSteps: [String: [Step]] { state.withLock { $0.unused } }

    /// Steps that requests have taken and that have changed nothing, by place, one for ``always(_:_:)`` where it has
    /// changed nothing for any of them: a
    /// ``Step/cut(afterBytes:with:)`` or ``Step/stall(afterBytes:)`` behind the end of the body, a ``Step/corrupt(at:)``
    /// of a byte that is not sent, those for ranges where no part was asked for or is served.
    public var stepsWithoutEffect: [String: [Step]] { state.withLock { $0.withoutEffect } }

    /// What every exchange fails with, as when there is no network (`TransportFault.notConnected`): those under way at
    /// once, and those that begin, whatever the script, which waits; nil for none.
    public var outage: TransportFault? {
        get { state.withLock { $0.outage } }
        set {
            state.withLock { $0.outage = newValue }
            if let newValue { fail(with: newValue) }
        }
    }

    /// Whether exchanges that break off leave resume data, where the traits promise some. True unless set.
    public var leavesResumeData: Bool {
        get { state.withLock { $0.leavesResumeData } }
        set { state.withLock { $0.leavesResumeData = newValue } }
    }

    // MARK: What was asked

    /// Every request so far, the oldest first.
    public var requests: [TransportRequest] { state.withLock { $0.requests } }

    /// What a request comes down to: one with resume data is one for the rest.
    func meant(by request: TransportRequest) -> TransportRequest {
        state.withLock { state in request.resumeData.flatMap { state.kept[$0]?.rest } ?? request }
    }

    /// Forgets the requests so far. Those who wait for requests go on waiting for as many as they asked for.
    public func clearRequests() {
        state.withLock { ($0.requests, $0.seen) = ([], 0) }
    }

    /// How many exchanges have begun and not ended.
    public var underway: Int { state.withLock { $0.exchanges.count } }

    /// How many exchanges the receiver holds back just now.
    public var paused: Int { state.withLock { $0.exchanges.values.count { $0.exchange.isPaused } } }

    /// Waits for the first request that no call of this has returned yet.
    ///
    /// - Throws: `CancellationError` when the Swift task is canceled.
    public func nextRequest() async throws -> TransportRequest {
        while true {
            let (next, total) = state.withLock { ($0.takeUnseen(), $0.lastNumber) }
            if let next { return next }
            try await begun.wait(for: total + 1)
        }
    }

    /// Waits until there are this many in ``requests``, and returns them.
    ///
    /// - Throws: `CancellationError` when the Swift task is canceled.
    @discardableResult
    public func waitForRequests(_ count: Int) async throws -> [TransportRequest] {
        while true {
            let (requests, total) = state.withLock { ($0.requests, $0.lastNumber) }
            if requests.count >= count { return requests }
            try await begun.wait(for: total + count - requests.count)
        }
    }

    // MARK: What happens to exchanges

    /// Lets exchanges go on that a script holds or has stalled: with their head and `bytes` more of their body, or
    /// with everything when nil. Only those of a place, or all. Those that pause still do.
    ///
    /// - Returns: How many exchanges were under way there, held or not.
    @discardableResult
    public func release(_ place: String? = nil, bytes: Int64? = nil) -> Int {
        let exchanges = exchanges(place)
        for exchange in exchanges { exchange.release(bytes) }
        return exchanges.count
    }

    /// Ends exchanges with a failure, wherever they are. Only those of a place, or all.
    ///
    /// - Returns: How many exchanges were under way there.
    @discardableResult
    public func fail(_ place: String? = nil, with fault: TransportFault) -> Int {
        let exchanges = exchanges(place)
        for exchange in exchanges { exchange.fail(TransportFailure(fault, "The test ends the exchange.")) }
        return exchanges.count
    }

    private func exchanges(_ place: String?) -> [ScriptedExchange] {
        let place = place.map(State.normalized)
        return state.withLock { state in
            state.exchanges.filter { place == nil || $0.value.places.contains { $0 == place } }
                .sorted { $0.key < $1.key }.map(\.value.exchange)
        }
    }

    /// Takes all scripts back, those that always hold included.
    package func endScripts() {
        state.withLock { ($0.scripts, $0.standing) = ([:], [:]) }
    }

    /// Whether every answer waits to be released, its head included.
    package var holdsAll: Bool {
        get { state.withLock { $0.holdsAll } }
        set { state.withLock { $0.holdsAll = newValue } }
    }

    /// The exchanges under way, the oldest first.
    var underwayExchanges: [ScriptedExchange] {
        state.withLock { state in state.exchanges.sorted { $0.key < $1.key }.map(\.value.exchange) }
    }

    // MARK: Transport

    /// Begins one exchange, by the next step of the script. See `Transport.begin(_:receive:)`.
    public func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        if let exchange = takeUp(request, receive) { return exchange }
        stopRush(of: request)
        let name = name(of: request)
        let exchange = state.withLock { state in
            // Under the lock: what begins just before the end is ended with the others.
            let isInvalidated = isInvalidated.withLock { $0 }
            let plan = state.note(request, isInvalidated: isInvalidated, at: clock?.now ?? .zero)
            let kept = request.resumeData.flatMap { state.kept[$0] }
            let handover = handover(of: request, goingOnWith: kept)
            let exchange = state.exchange(
                kept?.rest ?? request, plan, date, pieceLength, traits.delivery == .pausable, handover, receive
            ) { [weak self] in
                self?.state.withLock { _ = $0.exchanges.removeValue(forKey: plan.number) }
            }
            let underway = State.Underway(places: plan.places, exchange: exchange)
            state.exchanges[plan.number] = underway
            if !isInvalidated, let name { state.named[name] = underway }
            return exchange
        }
        begun.raise()
        exchange.deliver()
        return name == nil ? exchange : ScriptedAttendance(exchange)
    }

    /// Who asks again and again in no time does so for ever, and nothing else would tell.
    private func stopRush(of request: TransportRequest) {
        guard let now = clock?.now else { return }
        let limit = rushLimit.withLock { $0 }
        guard state.withLock({ $0.rush.count(request, at: now) }) >= limit else { return }
        Touch.trap(
            """
            The same of \(request.url.absoluteString) was requested \(limit) times while the clock stood still, \
            as if for ever. Give the retry policy a delay; do not start a task that has failed in its own handler each time.
            """)
    }

    /// Slices of a long file are not the same, and few ask so often for one.
    package let rushLimit = Locked(10_000)

    private func handover(of request: TransportRequest, goingOnWith kept: Kept?) -> ScriptedExchange.Handover? {
        guard traits.delivery == .file else { return nil }
        let data = kept == nil ? nil : request.resumeData
        return ScriptedExchange.Handover(held: kept?.bytes ?? [], data: data) { [weak self] head, bytes in
            guard let self, traits.hasResumeData else { return nil }
            return state.withLock { $0.keep(kept?.request ?? request, head, bytes) }
        }
    }

    private var date: Date { clock?.date ?? Date(timeIntervalSince1970: 1_748_736_000) }

    /// Ends every exchange with `TransportFault.unavailable`, and every later one at once. Those that outlive the process
    /// go on.
    public func invalidate() {
        isInvalidated.withLock { $0 = true }
        endAll()
    }

    /// Ends every exchange as ``invalidate()`` does; later ones are as good as ever.
    package func endAll() {
        let named = state.withLock { $0.namedExchanges }
        for exchange in exchanges(nil) where !named.contains(where: { $0 === exchange }) {
            exchange.fail(Self.unavailable)
        }
        for exchange in named { exchange.leave(with: Self.unavailable) }
    }

    /// Ends every exchange without a word, as the death of the process does. Those that outlive it go on.
    package func abandon() {
        let (ended, left) = state.withLock { state in
            defer { state.listener = nil }
            let left = state.namedExchanges
            let ended = state.exchanges.filter { entry in !left.contains { $0 === entry.value.exchange } }
                .sorted { $0.key < $1.key }
            for (number, _) in ended { state.exchanges[number] = nil }
            return (ended.map(\.value.exchange), left)
        }
        for exchange in ended { exchange.abandon() }
        for exchange in left { exchange.leave(with: nil) }
    }

    static let unavailable = TransportFailure(.unavailable, "The transport was invalidated.")
}
