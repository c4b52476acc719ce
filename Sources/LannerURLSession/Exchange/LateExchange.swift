import LannerCore

/// An exchange of which it is only known later who carries it out.
final class LateExchange: TransportExchange {
    private struct State {
        var exchange: (any TransportExchange)?
        var isCanceled = false
    }

    private let state = Locked(State())

    let outlivesProcess: Bool

    /// Whether it outlives the process is asked before anybody does.
    init(outlivesProcess: Bool) {
        self.outlivesProcess = outlivesProcess
    }

    /// This one does.
    func begin(_ exchange: any TransportExchange) {
        let isCanceled = state.withLock { state in
            state.exchange = exchange
            return state.isCanceled
        }
        if isCanceled { exchange.cancel() }
    }

    func cancel() {
        let exchange = state.withLock { state in
            state.isCanceled = true
            return state.exchange
        }
        exchange?.cancel()
    }

    // Those that hand over files are not paused.
    func pause() {}
    func resume() {}
}
