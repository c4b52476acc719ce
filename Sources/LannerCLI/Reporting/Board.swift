import Lanner

/// What the live display shows: the downloads that run, and a total.
struct Board: Sendable, Equatable {
    private struct Row: Sendable, Equatable {
        var name: String
        var standing: Standing
    }

    /// How many downloads the call has.
    private let count: Int
    private var running: [Int: Row] = [:]
    private var ended = 0
    private var failed = 0
    /// The bytes of those that ended well.
    private var bytes: Int64 = 0

    init(count: Int) {
        self.count = count
    }

    mutating func take(_ report: DownloadReport) {
        switch report.event {
        case .start, .progress, .restarted, .retrying:
            running[report.index] = Row(name: report.item.name, standing: report.standing)
        case .suspended:
            running[report.index] = nil
        case .done, .skipped:
            running[report.index] = nil
            ended += 1
            bytes = bytes.addingClamped(report.standing.bytes)
        case .failed:
            running[report.index] = nil
            ended += 1
            failed += 1
        }
    }

    /// The lines, none wider and not more than the terminal takes: where there is one, that is the total's.
    func lines(_ terminal: Terminal) -> [String] {
        // The cursor is in the line below them.
        let height = terminal.height - 1
        guard !running.isEmpty, height > 0 else { return [] }
        // The last column stays free: some terminals break the line as soon as it is used.
        let width = max(1, terminal.width - 1)
        let rows = running.sorted { $0.key < $1.key }.prefix(count > 1 ? height - 1 : height).map(\.value)
        let bars = rows.map { Bar.line($0.standing, label: $0.name, width: width) }
        return count > 1 ? bars + [Bar.line(total, label: totalLabel, width: width)] : bars
    }

    private var totalLabel: String {
        "total: \(ended - failed)/\(count) done" + (failed > 0 ? ", \(failed) failed" : "")
    }

    /// Percent and time are known once every size is.
    private var total: Standing {
        var sum = Standing(bytes: bytes, total: running.count + ended == count ? bytes : nil)
        for row in running.values {
            sum.bytes = sum.bytes.addingClamped(row.standing.bytes)
            sum.speed = sum.speed.addingClamped(row.standing.speed)
            sum.total = sum.total.flatMap { total in row.standing.total.map(total.addingClamped) }
        }
        if let total = sum.total, sum.speed > 0 { sum.timeLeft = max(0, total - sum.bytes) / sum.speed }
        return sum
    }
}
