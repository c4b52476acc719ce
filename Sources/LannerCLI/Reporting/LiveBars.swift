import Dispatch
import Lanner

/// Bars on the terminal of standard error, redrawn in place at most ten times a second; lines that stay go above them.
final class LiveBars: Reporter {
    private struct State {
        var board: Board
        /// What is drawn: how many lines of the terminal it takes.
        var drawn = 0
        var shown: [String] = []
        var timer: (any DispatchSourceTimer)?
    }

    let interval = Duration.milliseconds(100)
    private let state: Locked<State>

    init(count: Int) {
        state = Locked(State(board: Board(count: count)))
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "lanner.bars"))
        timer.setEventHandler { [weak self] in self?.redraw() }
        timer.schedule(deadline: .now(), repeating: .milliseconds(100))
        state.withLock { $0.timer = timer }
        timer.resume()
    }

    func report(_ report: DownloadReport) {
        state.withLock { state in
            state.board.take(report)
            if report.event.staysOnScreen, let line = Wording.line(report) { Self.show([line], above: &state) }
        }
    }

    func note(_ line: String) {
        state.withLock { Self.show([line], above: &$0) }
    }

    func finish() {
        state.withLock { state in
            state.timer?.cancel()
            state.timer = nil
            Console.draw(Self.frame([], above: [], over: state.drawn))
            (state.drawn, state.shown) = (0, [])
        }
    }

    private func redraw() {
        state.withLock { state in
            guard state.timer != nil, let terminal = Terminal.current else { return }
            let lines = state.board.lines(terminal)
            if lines != state.shown { Self.draw(lines, above: [], &state) }
        }
    }

    private static func show(_ lines: [String], above state: inout State) {
        guard state.timer != nil else { return lines.forEach(Console.message) }
        draw(Terminal.current.map(state.board.lines) ?? [], above: lines, &state)
    }

    private static func draw(_ bars: [String], above lines: [String], _ state: inout State) {
        Console.draw(frame(bars, above: lines, over: state.drawn))
        (state.drawn, state.shown) = (bars.count, bars)
    }

    /// What to write to the terminal: up over the bars that are there, then each line anew, then nothing below.
    static func frame(_ bars: [String], above lines: [String], over drawn: Int) -> String {
        guard drawn > 0 || !bars.isEmpty || !lines.isEmpty else { return "" }
        let up = drawn > 0 ? "\u{1B}[\(drawn)A" : ""
        return up + "\r" + (lines + bars).map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J"
    }
}

extension DownloadReport.Event {
    /// Whether its line is left above the bars.
    fileprivate var staysOnScreen: Bool {
        switch self {
        case .start, .progress: false
        case .done, .skipped, .restarted, .retrying, .suspended, .failed: true
        }
    }
}
