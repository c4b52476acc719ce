/// Bytes a second over the last few seconds.
struct SpeedMeter: Sendable {
    /// Long enough to be calm, short enough to show a stall soon.
    private static let window: Duration = .seconds(3)
    /// What comes within less counts as all that came in so many seconds: a burst is no rate.
    private static let shortest = 1.0

    private var samples: [(time: Duration, bytes: Int64)] = []
    private(set) var value: Int64 = 0

    /// Notes how many bytes there are at a time. Fewer than before begin anew.
    mutating func note(_ bytes: Int64, at time: Duration) {
        if let last = samples.last, bytes < last.bytes || time < last.time { stop() }
        samples.append((time, bytes))
        while samples.count > 2, time - samples[1].time >= Self.window { samples.removeFirst() }
        guard let first = samples.first, time > first.time else { return }
        let (seconds, attoseconds) = (time - first.time).components
        let elapsed = max(Self.shortest, Double(seconds) + Double(attoseconds) / 1e18)
        value = Int64(rounding: Double(bytes - first.bytes) / elapsed)
    }

    /// Nothing comes any more, or it begins anew.
    mutating func stop() {
        samples = []
        value = 0
    }
}

extension Int64 {
    /// The nearest integer; 0 for what is no number.
    init(rounding value: Double) {
        // The largest Double below 2⁶³ and the first above -2⁶³.
        self = value.isNaN ? 0 : Int64(Swift.min(Swift.max(value.rounded(), -0x1p63), 0x1.fffffffffffffp62))
    }
}
