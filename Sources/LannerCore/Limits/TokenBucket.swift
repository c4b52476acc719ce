/// Meters a flow of bytes: fills at a rate, up to a capacity; what is taken may leave it in debt. Exact: what comes in over
/// any time does not depend on how often it was looked at.
struct TokenBucket: Sendable, Hashable {
    /// Bytes a second, at least 1.
    private(set) var rate: Int64
    /// Bytes that may be taken now; below zero for what was taken too early.
    private(set) var level: Int64
    /// Billionths of a byte that there are beyond `level`.
    private var fraction: Int64 = 0
    /// Up to when it was filled.
    private var time: Duration

    /// A full one.
    init(rate: Int64, at now: Duration) {
        self.rate = max(1, rate)
        level = Self.capacity(self.rate)
        time = now
    }

    /// The most it holds: what comes in a quarter of a second, and at least what transports deliver in one piece.
    var capacity: Int64 { Self.capacity(rate) }

    private static func capacity(_ rate: Int64) -> Int64 { max(rate / 4, 16 << 10) }

    mutating func fill(at now: Duration) {
        guard now > time else { return }
        let nanoseconds = (now - time).wholeNanoseconds
        time = now
        let room = UInt64(bitPattern: capacity &- level)
        let (high, low) = UInt64(rate).multipliedFullWidth(by: UInt64(nanoseconds))
        let (sum, isCarried) = low.addingReportingOverflow(UInt64(fraction))
        let dividend = high + (isCarried ? 1 : 0)
        guard dividend < Self.second else { return fillUp() }
        let (bytes, rest) = Self.second.dividingFullWidth((dividend, sum))
        guard bytes < room else { return fillUp() }
        level += Int64(bytes)
        fraction = Int64(rest)
    }

    private mutating func fillUp() {
        (level, fraction) = (capacity, 0)
    }

    /// The deepest debt: what comes in ten seconds, or 1 MiB where that is more. What comes beyond, since nobody could hold
    /// it back, is let go: else one such file would keep all others from coming for as long as it should have taken.
    var deepest: Int64 { -max(min(rate, Self.most / 10) * 10, 1 << 20) }

    /// Takes bytes, whether or not they are there.
    mutating func take(_ count: Int64) { settle(-max(count, -Self.most)) }

    /// Puts back what was not used, or takes what was used too much.
    mutating func settle(_ credit: Int64) {
        level = min(max(level + min(max(credit, -Self.most), Self.most), deepest), capacity)
    }

    /// Fills at another rate from now on. A debt is paid off no later than it would have been, and is no greater.
    mutating func setRate(_ new: Int64, at now: Duration) {
        fill(at: now)
        let new = max(1, new)
        level = min(Self.converted(level, from: rate, to: new), Self.capacity(new))
        (rate, fraction) = (new, 0)
    }

    /// What a debt becomes when the rate changes.
    static func converted(_ level: Int64, from old: Int64, to new: Int64) -> Int64 {
        guard level < 0, new < old else { return level }
        return Int64(Double(level) * (Double(new) / Double(old)))
    }

    /// How long it takes from when it was last filled until there are so many; a day at most.
    func wait(for target: Int64) -> Duration {
        guard target > level else { return .zero }
        let (high, low) = UInt64(bitPattern: target &- level).multipliedFullWidth(by: Self.second)
        let (rest, isBorrowed) = low.subtractingReportingOverflow(UInt64(fraction))
        let dividend = high - (isBorrowed ? 1 : 0)
        guard dividend < UInt64(rate) else { return Self.longest }
        let (quotient, remainder) = UInt64(rate).dividingFullWidth((dividend, rest))
        guard quotient < UInt64(Self.longest.wholeNanoseconds) else { return Self.longest }
        return .nanoseconds(Int64(quotient) + (remainder > 0 ? 1 : 0))
    }

    /// Nanoseconds in a second.
    private static let second: UInt64 = 1_000_000_000
    private static let longest = Duration.seconds(86_400)
    /// Far from where counting ends.
    private static let most = Int64.max / 4
}

extension Duration {
    /// In nanoseconds, at most what fits; the rest is cut off.
    fileprivate var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, isTooMuch) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return isTooMuch ? .max : product.addingClamped(attoseconds / 1_000_000_000)
    }
}
