import CLannerCurl
import Dispatch
import Foundation
import LannerCore

/// Carries out exchanges: owns the thread that does all that libcurl does.
// @unchecked Sendable: the variables are only touched on the loop's own thread; the rest is constant or locked.
final class Loop: @unchecked Sendable {
    /// What other threads want of the loop's.
    enum Call {
        case begin(CurlExchange)
        /// Nobody waits for it any more.
        case drop(CurlExchange)
        /// Its receiver has room again.
        case go(CurlExchange)
    }

    private struct Inbox {
        var calls: [Call] = []
        /// Whose end has not come yet.
        var live: [ObjectIdentifier: CurlExchange] = [:]
        var hasThread = false
        var isClosed = false
        /// For waking the thread, as long as there is something to wake.
        var multi: OpaquePointer?

        mutating func add(_ new: some Sequence<Call>) {
            // Who added the first has woken it already.
            let wasEmpty = calls.isEmpty
            calls += new
            if wasEmpty { wake() }
        }

        func wake() {
            if let multi { lanner_curl_multi_wake(multi) }
        }
    }

    /// Bytes worth being handed over at once, and how long fewer are kept: changes of threads cost more than they do.
    private static let batch = 256 << 10
    private static let delay = (milliseconds: Int32(5), nanoseconds: UInt64(5_000_000))
    /// Connections that are kept for later exchanges, besides those in use; and how many there are then with these at most:
    /// a server that serves so many and no more has each of the others wait for one to be closed. An eighth, and a quarter, of
    /// what the program may have open.
    private static let idleConnections = min(64, max(4, PosixFileSystem().maximumOpenFiles / 8))
    private static let mostConnections = 2 * idleConnections
    /// Names that are looked up at the same time: one that takes long is to hold up no other.
    private static let mostResolvers = 512
    /// How long libcurl keeps a connection that is idle.
    static let longestIdle = 118
    /// libcurl has shorter waits of its own where it needs them; but when it gives up one address of a host for the next
    /// it tells nobody that it wants to go on, as 7.88 does. The program curl never waits longer, either.
    private static let longestWait: Int32 = 1000
    /// `CURLM_OUT_OF_MEMORY`, and `CURLM_UNRECOVERABLE_POLL`: the system takes no more descriptors at once than a
    /// program may have open.
    private static let passingTroubles: Set<Int32> = [3, 12]

    private let options: CurlTransport.Options
    private let make: @Sendable () -> OpaquePointer?
    private let perform: @Sendable (OpaquePointer) -> Int32
    /// For how many seconds it waits for another exchange: nothing else has libcurl see that servers have closed the
    /// connections it keeps (curl issue 22859).
    private let patience: Int
    private let pool = SlabPool()
    private let inbox = Locked(Inbox())

    private var transfers: [OpaquePointer: CurlTransfer] = [:]
    private var spareHandles: SpareHandles
    /// When a connection was given up over which nothing came: those that were idle then may have died with it.
    private var doubts: [Origin: DispatchTime] = [:]
    /// Those whose connections bring one answer each.
    private var distrusted: Set<Origin> = []
    /// The exchanges that have been told something in this round: their receivers hear of it at its end, of all at once.
    private var told: [CurlExchange] = []
    /// Whether something has come since the last wait.
    var hasHeard = false
    /// The transfers that have begun to hold bytes back, where that has to be told to libcurl once more.
    private var holding: [CurlTransfer] = []
    /// The transfers that have gathered bytes, and since when the first has.
    private var gathering: (transfers: [CurlTransfer], since: UInt64) = ([], 0)
    /// Since when there has been no transfer.
    private var idle: DispatchTime?

    /// `make` gives a new multi handle; nil when there cannot be one now. `perform` does what is to be done, and gives
    /// libcurl's result.
    init(
        _ options: CurlTransport.Options, make: @escaping @Sendable () -> OpaquePointer? = Loop.makeWakeable,
        perform: @escaping @Sendable (OpaquePointer) -> Int32 = Loop.performNow, patience: Int = Loop.longestIdle
    ) {
        (self.options, self.make, self.perform, self.patience) = (options, make, perform, patience)
        spareHandles = SpareHandles(options)
    }

    // MARK: On any thread

    func begin(_ exchanges: [CurlExchange]) {
        if exchanges.isEmpty { return }
        let (isAccepted, needsThread) = inbox.withLock { inbox in
            guard !inbox.isClosed else { return (false, false) }
            for exchange in exchanges { inbox.live[ObjectIdentifier(exchange)] = exchange }
            inbox.add(exchanges.lazy.map { .begin($0) })
            defer { inbox.hasThread = true }
            return (true, !inbox.hasThread)
        }
        if !isAccepted { for exchange in exchanges { exchange.abandon(.invalidated) } }
        if needsThread { startThread() }
    }

    /// Has something done, unless the loop is over.
    func post(_ call: Call) {
        inbox.withLock { if $0.hasThread, !$0.isClosed { $0.add(CollectionOfOne(call)) } }
    }

    /// Ends every exchange, and the thread.
    func close() {
        abandonAll(.invalidated) { inbox in
            inbox.isClosed = true
            inbox.wake()
        }
    }

    private func abandonAll(_ failure: TransportFailure, _ change: (inout Inbox) -> Void) {
        let orphans = inbox.withLock { inbox in
            change(&inbox)
            inbox.calls = []
            defer { inbox.live = [:] }
            return Array(inbox.live.values)
        }
        for exchange in orphans { exchange.abandon(failure) }
    }

    private func startThread() {
        LoopThread.start {
            while self.run(), !self.mayRest() {}
        }
    }

    // MARK: On the loop's thread

    /// Until the loop is over, or has had nothing to do for long; false when libcurl cannot go on.
    private func run() -> Bool {
        guard let multi = makeMulti() else {
            let message = "libcurl cannot be set up: there is no memory or no file descriptor left."
            // What comes later tries again.
            abandonAll(TransportFailure(.cannotConnect, message)) { $0.hasThread = false }
            return false
        }
        inbox.withLock { $0.multi = multi }
        let result = runRounds(multi)
        inbox.withLock { $0.multi = nil }
        for easy in Array(transfers.keys) { _ = remove(easy, multi) }
        drainTold()
        spareHandles.drain()
        pool.drain()
        lanner_curl_multi_free(multi)
        if result == 0 { return true }
        // With another handle what comes later tries again, as does whoever tries this again.
        let message = "libcurl: \(String(cString: lanner_curl_multi_text(result)))"
        abandonAll(TransportFailure(.other, message)) { $0.hasThread = false }
        return false
    }

    /// Gives the thread back, unless something has come at the last moment; whoever begins an exchange takes another.
    private func mayRest() -> Bool {
        inbox.withLock { inbox in
            guard inbox.isClosed || inbox.calls.isEmpty else { return false }
            inbox.hasThread = false
            return true
        }
    }

    /// Until the loop is over, has had nothing to do for long, or libcurl cannot go on, which the result says.
    private func runRounds(_ multi: OpaquePointer) -> Int32 {
        idle = nil
        while let calls = takeCalls(), !isIdleForLong(calls) {
            let result = pooled {
                for call in calls { answer(call, multi) }
                return step(multi)
            }
            if result != 0 { return result }
        }
        return 0
    }

    private func isIdleForLong(_ calls: [Call]) -> Bool {
        guard transfers.isEmpty, calls.isEmpty else {
            idle = nil
            return false
        }
        let now = DispatchTime.now()
        let start = idle ?? now
        idle = start
        return start + .seconds(patience) <= now
    }

    /// Nil also when the thread could not be woken, for which a transfer would wait as long as the loop does: libcurl goes
    /// without where there are no descriptors left.
    static func makeWakeable() -> OpaquePointer? {
        guard let multi = lanner_curl_multi_make() else { return nil }
        if lanner_curl_multi_wake(multi) == 0 { return multi }
        lanner_curl_multi_free(multi)
        return nil
    }

    static func performNow(_ multi: OpaquePointer) -> Int32 { lanner_curl_multi_perform(multi) }

    private func makeMulti() -> OpaquePointer? {
        guard let multi = make() else { return nil }
        keepConnections(multi)
        // Not known to older ones, which do so anyway.
        lanner_curl_multi_set_number(multi, LANNER_CURL_MOST_RESOLVERS, Self.mostResolvers)
        lanner_curl_multi_set_number(multi, LANNER_CURL_MULTI_QUICK_EXIT, 1)
        if let limit = options.connectionsPerHost {
            lanner_curl_multi_set_number(multi, LANNER_CURL_HOST_CONNECTIONS, max(1, limit))
        }
        if let limit = options.connections {
            lanner_curl_multi_set_number(multi, LANNER_CURL_TOTAL_CONNECTIONS, max(1, limit))
        }
        return multi
    }

    /// libcurl closes those that are idle when there are more than it is to keep, and counts those in use: with a number
    /// that these exceed it keeps none. It goes by it whenever an exchange is over.
    private func keepConnections(_ multi: OpaquePointer) {
        let most = min(Self.idleConnections + transfers.count, Self.mostConnections)
        lanner_curl_multi_set_number(multi, LANNER_CURL_KEPT_CONNECTIONS, most)
    }

    /// What came meanwhile; nil when the loop is over.
    private func takeCalls() -> [Call]? {
        inbox.withLock { inbox in
            guard !inbox.isClosed else { return nil }
            defer { inbox.calls.removeAll(keepingCapacity: true) }
            return inbox.calls
        }
    }

    private func answer(_ call: Call, _ multi: OpaquePointer) {
        switch call {
        case .begin(let exchange): begin(exchange, multi)
        case .drop(let exchange):
            if let easy = exchange.handle { drop(easy, multi) }
            forget(exchange)
        case .go(let exchange):
            if let easy = exchange.handle { lanner_curl_go(easy) }
        }
    }

    private func begin(_ exchange: CurlExchange, _ multi: OpaquePointer) {
        guard !exchange.isOver else { return forget(exchange) }
        do throws(TransportFailure) {
            guard let handle = spareHandles.take() else {
                throw TransportFailure(.other, "There is no memory left.")
            }
            let transfer = try CurlTransfer(exchange, handle, options, loop: self, pool: pool)
            avoidDeadConnections(transfer)
            let result = add(transfer, multi)
            guard result == 0 else {
                throw TransportFailure(.other, "libcurl: \(String(cString: lanner_curl_multi_text(result)))")
            }
        } catch {
            exchange.finish(.failure(error))
            forget(exchange)
        }
    }

    /// The result is libcurl's.
    private func add(_ transfer: CurlTransfer, _ multi: OpaquePointer) -> Int32 {
        let easy = transfer.handle.easy
        let result = lanner_curl_multi_add(multi, easy)
        guard result == 0 else { return result }
        transfers[easy] = transfer
        transfer.exchange.handle = easy
        keepConnections(multi)
        return result
    }

    /// Asks over a new connection, when none of those that were kept was alive; whether that could be begun. Others are not
    /// to try what is left of them.
    private func askAgain(_ transfer: CurlTransfer, _ multi: OpaquePointer) -> Bool {
        doubt(transfer.origin)
        transfer.beginAgain()
        avoidDeadConnections(transfer)
        return add(transfer, multi) == 0
    }

    /// At the end of this round somebody is to hand over what waits for an exchange's receiver.
    func drain(_ exchange: CurlExchange) {
        told.append(exchange)
    }

    private func drop(_ easy: OpaquePointer, _ multi: OpaquePointer) {
        if let transfer = transfers[easy], transfer.isSilent, transfer.handle.hasConnection { doubt(transfer.origin) }
        _ = remove(easy, multi)
    }

    /// Where a connection has died and nobody has said so, others that are kept may have died with it.
    private func doubt(_ origin: Origin) {
        let now = DispatchTime.now()
        doubts = doubts.filter { $0.value + .seconds(Self.longestIdle) > now }
        doubts[origin] = now
    }

    /// Where a connection had something left of one answer when the next was to come, others will: none is used again.
    func distrust(_ origin: Origin) {
        if distrusted.count > 1000 { distrusted = [] }
        distrusted.insert(origin)
    }

    private func avoidDeadConnections(_ transfer: CurlTransfer) {
        if distrusted.contains(transfer.origin) {
            transfer.handle.set(LANNER_CURL_FRESH_CONNECT, 1)
            transfer.handle.set(LANNER_CURL_FORBID_REUSE, 1)
        }
        guard let time = doubts[transfer.origin] else { return }
        let seconds = (DispatchTime.now().uptimeNanoseconds - time.uptimeNanoseconds) / 1_000_000_000
        // libcurl closes those that have been idle for longer.
        transfer.handle.set(LANNER_CURL_LONGEST_IDLE, min(max(Int(seconds), 1), Self.longestIdle))
    }

    private func remove(_ easy: OpaquePointer, _ multi: OpaquePointer) -> CurlTransfer? {
        guard let transfer = transfers.removeValue(forKey: easy) else { return nil }
        transfer.exchange.handle = nil
        lanner_curl_multi_remove(multi, easy)
        keepConnections(multi)
        gathering.transfers.removeAll { $0 === transfer }
        return transfer
    }

    private func forget(_ exchange: CurlExchange) {
        inbox.withLock { $0.live[ObjectIdentifier(exchange)] = nil }
        if transfers.isEmpty { pool.drain() }
    }

    /// One round; the result is libcurl's.
    private func step(_ multi: OpaquePointer) -> Int32 {
        holdBack()
        let result = perform(multi)
        if result == 0 {
            takeEnds(multi)
            handOver()
            holdBack()
        }
        drainTold()
        guard result == 0 else { return result }
        // 8.21 forgets while it performs that it was to be woken.
        if inbox.withLock({ $0.isClosed || !$0.calls.isEmpty }) { return 0 }
        let longest = transfers.isEmpty ? Int32(patience) * 1000 : Self.longestWait
        return wait(multi, gathering.transfers.isEmpty ? longest : Self.delay.milliseconds)
    }

    /// What cannot be waited for is looked at again after a while: there may be memory then, or fewer transfers.
    private func wait(_ multi: OpaquePointer, _ milliseconds: Int32) -> Int32 {
        // Not where others bring something.
        if Library.spinsWhileItHolds, !hasHeard, transfers.values.contains(where: \.isHolding) { Self.rest() }
        hasHeard = false
        let result = lanner_curl_multi_wait(multi, milliseconds)
        guard Self.passingTroubles.contains(result) else { return result }
        Self.rest()
        return 0
    }

    private static func rest() {
        Thread.sleep(forTimeInterval: TimeInterval(delay.milliseconds) / 1000)
    }

    /// Has what was told handed over, whatever comes next: who abandons an exchange meanwhile counts on it.
    private func drainTold() {
        for exchange in told { exchange.startDraining() }
        told.removeAll(keepingCapacity: true)
    }

    private func takeEnds(_ multi: OpaquePointer) {
        var code: Int32 = 0
        while let easy = lanner_curl_multi_next_done(multi, &code) {
            guard let transfer = remove(easy, multi) else { continue }
            if transfer.mayAskAgain(after: code), askAgain(transfer, multi) { continue }
            transfer.finish(code)
            // What libcurl keeps of a failure is nothing for another transfer.
            if code == 0 { spareHandles.give(transfer.handle) }
            forget(transfer.exchange)
        }
    }

    // MARK: What is held back

    /// A transfer holds bytes back.
    func held(_ transfer: CurlTransfer) {
        if Library.readsBesideOthers { holding.append(transfer) }
    }

    /// Sees to it that nothing is read for those that hold bytes back: these are offered again, while nothing may be sent.
    private func holdBack() {
        while let transfer = holding.popLast() {
            guard transfer.isHolding, let easy = transfer.exchange.handle else { continue }
            let others = holding
            lanner_curl_offer(easy)
            // What it holds back by that is what it held before.
            holding = others
            // There may be room for them by now: then it goes on, and may hold others back.
            if !transfer.isHolding { lanner_curl_go(easy) }
        }
    }

    // MARK: What has been gathered

    /// A transfer has gathered its first bytes.
    func gathered(_ transfer: CurlTransfer) {
        if gathering.transfers.isEmpty { gathering.since = DispatchTime.now().uptimeNanoseconds }
        gathering.transfers.append(transfer)
    }

    private func handOver() {
        guard !gathering.transfers.isEmpty else { return }
        let isDue = DispatchTime.now().uptimeNanoseconds - gathering.since >= Self.delay.nanoseconds
        gathering.transfers.removeAll { transfer in
            guard isDue || transfer.gatheredCount >= Self.batch else { return false }
            transfer.flush()
            return true
        }
    }
}
