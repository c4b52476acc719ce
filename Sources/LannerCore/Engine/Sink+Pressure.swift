// When a transport has to wait: while the disk does not keep up, and while a limit is kept.

extension Sink {
    /// Bytes that wait, here or on their way to the disk, beside the marks they are measured by; nil when none are taken.
    var outstanding: (bytes: Int, marks: WaterMarks)? {
        state.withLock { state in
            switch state.phase {
            case .undecided(let early): (early.bytes.count, .usual)
            case .open(let target): (target.file.outstanding, target.file.load.marks)
            case .closed: nil
            }
        }
    }

    func holdBack() {
        followMeter()
        guard let (bytes, marks) = outstanding, bytes > marks.high else { return }
        if isPausable {
            pause { $0.isFull = true }
            // What would have let it go on may have come between the look and the pause.
            relieve()
        } else {
            waitForRoom()
        }
    }

    /// The file has written something, or failed: the transport may go on.
    func relieve() {
        if let (bytes, marks) = outstanding, bytes > marks.low { return }
        signalRoom()
        readOn()
        if isPausable { pause { $0.isFull = false } }
    }

    /// Pauses while a limit is reached. What the meter says is looked at under the lock, so that the last of several that
    /// look at once sees what holds.
    func followMeter() {
        guard isPausable, let meter else { return }
        pause { $0.isHeld = meter.isHeld }
    }

    // MARK: By pausing

    private func pause(_ change: (inout State) -> Void) {
        let isToSettle = state.withLock { state in
            let wasPaused = state.isPaused
            change(&state)
            // Also what was paused before: whose bytes go on coming may have taken an earlier `resume()` for the later call.
            return wasPaused || state.isPaused
        }
        if isToSettle { settlePause() }
    }

    /// Has the exchange do what was last decided. Others may decide otherwise meanwhile, also inside these calls: whoever
    /// comes last sets it right.
    func settlePause() {
        while let (exchange, isPaused) = state.withLock({ state in state.exchange.map { ($0, state.isPaused) } }) {
            if isPaused { exchange.pause() } else { exchange.resume() }
            if state.withLock({ $0.isPaused }) == isPaused { return }
        }
    }

    // MARK: By blocking

    /// The only way to slow such a transport down. Not before the answer is judged: that may be up to this thread,
    /// in a transport that delivers inside `begin`.
    private func waitForRoom() {
        while let room = awaitedRoom() {
            lanes.wait(for: room)
            // Lanes without threads have nothing left to run: whoever would make room is waiting for this delivery.
            if !room.isOpen { return }
        }
    }

    /// What is opened once there is room; nil when there is.
    private func awaitedRoom() -> Latch? {
        let room = state.withLock { state in
            let room = state.room ?? Latch()
            state.room = room
            return room
        }
        // After that, so that whatever makes room from here on opens it.
        if isJudged, let (bytes, marks) = outstanding, bytes > marks.low { return room }
        signalRoom()
        return nil
    }

    private var isJudged: Bool {
        state.withLock { state in
            if case .undecided = state.phase { return false }
            return true
        }
    }

    func signalRoom() {
        if isPausable { return }
        let room = state.withLock { $0.room.take() }
        room?.open()
    }
}
