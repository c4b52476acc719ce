import Foundation

// Figures as text, for people.

extension DownloadTask {
    /// ``speed`` as text, for example "1.5 MB/s".
    public var speedString: String { Figures.speed(speed) }

    /// ``timeRemaining`` as text, for example "01:05".
    public var timeRemainingString: String { Figures.time(timeRemaining) }

    /// ``startDate`` as text in the user's time zone; empty when that is 0.
    public var startDateString: String { Figures.date(startDate) }

    /// ``endDate`` as text in the user's time zone; empty when that is 0.
    public var endDateString: String { Figures.date(endDate) }
}

extension SessionManager {
    /// ``speed`` as text, for example "1.5 MB/s".
    public var speedString: String { Figures.speed(speed) }

    /// ``timeRemaining`` as text, for example "01:05".
    public var timeRemainingString: String { Figures.time(timeRemaining) }
}

/// How numbers are written.
package enum Figures {
    /// Bytes in decimal units, for example "1.5 MB".
    package static func bytes(_ count: Int64) -> String {
        var value = Double(count)
        for unit in ["B", "kB", "MB", "GB"] {
            if abs(value) < 1000 { return text(value, unit) }
            value /= 1000
        }
        return text(value, "TB")
    }

    private static func text(_ value: Double, _ unit: String) -> String {
        unit == "B" || value >= 100
            ? "\(Int64(value.rounded())) \(unit)" : "\(String(format: "%.1f", value)) \(unit)"
    }

    package static func speed(_ bytesPerSecond: Int64) -> String { bytes(bytesPerSecond) + "/s" }

    /// Minutes and seconds, with hours from one on.
    package static func time(_ seconds: Int64) -> String {
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60)
        return hours > 0
            ? String(format: "%lld:%02lld:%02lld", hours, minutes, rest)
            : String(format: "%02lld:%02lld", minutes, rest)
    }

    static func date(_ seconds: TimeInterval) -> String {
        guard seconds > 0 else { return "" }
        let formatter = DateFormatter()
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        formatter.locale = Locale(identifier: "en_US_POSIX")
        return formatter.string(from: Date(timeIntervalSince1970: seconds))
    }
}
