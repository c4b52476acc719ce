/// Bytes a second over the last few seconds.
struct SpeedMeter: Sendable {
    /// Long enough to be calm, short enough to show a stall soon.
    private static let window: Duration = .seconds(3)

    private var samples: [(time: Duration, bytes: Int64)] = []
    private(set) var value: Int64 = 0

    /// Notes how many bytes there are at a time. Fewer than before begin anew.
    mutating func note(_ bytes: Int64, at time: Duration) {
        if let last = samples.last, bytes < last.bytes || time < last.time { samples = [] }
        samples.append((time, bytes))
        while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
        guard let first = samples.first, time > first.time else { return }
        let (seconds, attoseconds) = (time - first.time).components
        let elapsed = Double(seconds) + Double(attoseconds) / 1e18
        value = Int64(clamping: Int((Double(bytes - first.bytes) / elapsed).rounded()))
    }

    /// The task does not run.
    mutating func stop() {
        samples = []
        value = 0
    }
}
