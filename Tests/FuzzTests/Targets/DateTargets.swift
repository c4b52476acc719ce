import Foundation

@testable import LannerLoopback
@testable import LannerMachine

/// Dates, and delays that may be dates.
extension FuzzTarget {
    private typealias Written = LannerMachine.HTTPDate
    private typealias Other = LannerLoopback.HTTPDate
    /// What the years 1 to 9999 hold.
    private static let dates: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// A line with the time of day, in seconds since 1970; then dates.
    static let httpDate = FuzzTarget("http-date") { bytes in
        var feed = Feed(bytes)
        let now = Int64(feed.line()) ?? Written.startOf2025
        try writeAndRead(now)
        for line in feed.lines() {
            guard let seconds = Written.seconds(line, now: now) else { continue }
            try writeAndRead(seconds)
            if line.contains("-") { try checkYear(seconds, now) }
        }
    }

    private static func writeAndRead(_ seconds: Int64) throws {
        let text = Written.text(seconds)
        let kept = min(max(seconds, dates.lowerBound), dates.upperBound)
        try promise(Written.seconds(text) == kept, "\(seconds) is written as \(text)")
        // The loopback server has a reader of its own; they have to agree.
        try promise(Other.parse(text) == kept, "\(text) is not read by the server as \(kept)")
    }

    /// Only dates with a year of two digits have hyphens.
    private static func checkYear(_ seconds: Int64, _ now: Int64) throws {
        let (year, thisYear) = (year(seconds), year(now))
        // A leap second may belong to the next year.
        try promise(year > thisYear - 50 && year <= thisYear + 51, "\(year) is too far from \(thisYear)")
    }

    private static func year(_ seconds: Int64) -> Int {
        Int(Written.text(seconds).split(separator: " ").dropFirst(3).first ?? "") ?? 0
    }

    /// Lines: the time of day, `Retry-After`, `Date`.
    static let retryAfter = FuzzTarget("retry-after") { bytes in
        var feed = Feed(bytes)
        let wall = Int64(feed.line()) ?? Written.startOf2025
        let value = feed.line()
        let sent = feed.isEmpty ? nil : feed.line()
        var fields: HeaderFields = ["Retry-After": value]
        fields["Date"] = sent
        let delay = RetryAfter.delay(fields: fields, wallSeconds: wall)
        try promise(delay.map { $0 >= .zero && $0 <= .seconds(RetryAfter.longest) } ?? true, "\(delay ?? .zero)")
        if let seconds = UInt64(value), value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
            try promise(delay == .seconds(min(seconds, 86_400)), "\(seconds) s are \(delay ?? .zero)")
        } else if let until = Written.seconds(value, now: wall) {
            let from = sent.flatMap { Written.seconds($0, now: wall) } ?? wall
            let exact = (Double(until) - Double(from)).rounded()
            try promise(delay == .seconds(Int64(min(max(exact, 0), 86_400))), "\(exact) s are \(delay ?? .zero)")
        } else if delay != nil {
            try promise(value.utf8.contains { $0 >= 0x30 && $0 <= 0x39 }, "a delay without a number: \(value)")
        }
    }
}
