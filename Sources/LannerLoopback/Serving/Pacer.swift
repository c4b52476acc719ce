import Dispatch

/// Spreads bytes over time so that a rate is kept.
struct Pacer {
    /// Bytes per second.
    let rate: Int
    /// When the bytes so far have had their time.
    private var due = DispatchTime.now()

    init(rate: Int) {
        self.rate = max(1, rate)
    }

    /// How many bytes to send at once: about a fiftieth of a second's.
    var portion: Int { max(1, rate / 50) }

    /// Counts bytes; returns when the next may be sent.
    mutating func count(_ bytes: Int) -> DispatchTime {
        // A tenth of a second may be caught up, so that late wake-ups do not lower the rate.
        due = max(due, .now() - 0.1) + Double(bytes) / Double(rate)
        return due
    }
}
