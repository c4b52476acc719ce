import Foundation

/// Dates in the one form HTTP sends, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7).
///
/// The server has its own reader and writer, as it has its own ranges and conditions: it stands for servers that others
/// wrote, and a mistake it shared with the client would be seen by no test.
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Whole seconds since 1970 of a date, rounded down.
    static func seconds(_ date: Date) -> Int64 {
        // Year 9999 is the last the form can show.
        Int64(min(max(date.timeIntervalSince1970.rounded(.down), 0), 253_402_300_799))
    }

    static func text(_ date: Date) -> String {
        // Of 32 bits on some systems.
        var time = time_t(clamping: seconds(date))
        var parts = tm()
        gmtime_r(&time, &parts)
        let day = "\(days[Int(parts.tm_wday)]), \(twoDigits(parts.tm_mday)) \(months[Int(parts.tm_mon)])"
        let clock = "\(twoDigits(parts.tm_hour)):\(twoDigits(parts.tm_min)):\(twoDigits(parts.tm_sec))"
        // Dates begin with 1970, so that the year has four digits.
        return "\(day) \(Int(parts.tm_year) + 1900) \(clock) GMT"
    }

    /// Whole seconds since 1970; nil when the text is not in the form.
    static func parse(_ text: String) -> Int64? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, words[0].last == ",", words[5] == "GMT",
            days.contains(String(words[0].dropLast())),
            let day = number(words[1], 2), let year = number(words[3], 4),
            let month = months.firstIndex(of: String(words[2]))
        else { return nil }
        let clock = words[4].split(separator: ":").map { number($0, 2) }
        guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2] else { return nil }
        var parts = tm()
        parts.tm_year = Int32(year - 1900)
        parts.tm_mon = Int32(month)
        parts.tm_mday = Int32(day)
        parts.tm_hour = Int32(hour)
        parts.tm_min = Int32(minute)
        parts.tm_sec = Int32(second)
        return Int64(timegm(&parts))
    }

    private static func twoDigits(_ number: Int32) -> String {
        (number < 10 ? "0" : "") + String(number)
    }

    private static func number(_ text: Substring, _ digits: Int) -> Int? {
        text.utf8.count == digits && text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? Int(text) : nil
    }
}
