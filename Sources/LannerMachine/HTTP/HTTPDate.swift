/// Dates in header fields, as whole seconds since 1970 (RFC 9110, 5.6.7).
package enum HTTPDate {
    /// Reads any of the three formats: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov  6 08:49:37 1994`; nil for everything else, days and hours that do not exist included.
    ///
    /// The name of the weekday is not compared with the date. A second of 60 is the first of the next minute.
    /// The two-digit year of the second format is never more than 50 years after `now`.
    package static func seconds(_ text: String, now: Int64 = startOf2025) -> Int64? {
        let bytes = FieldText.trimmed(text)
        return fixed(bytes) ?? obsolete(bytes, now: now) ?? asctime(bytes)
    }

    /// Reads the first format with another zone than GMT, as programs write it that take the date of mail for that of HTTP:
    /// `Sun, 06 Nov 1994 09:49:37 +0100`, or `UTC`.
    package static func zonedSeconds(_ text: String) -> Int64? {
        zoned(FieldText.trimmed(text))
    }

    /// Writes the first format; dates outside the years 1 to 9999 become the nearest that can be written.
    package static func text(_ seconds: Int64) -> String {
        let moment = Calendar(seconds: min(max(seconds, Calendar.first), Calendar.last))
        let time = "\(padded(moment.hour, 2)):\(padded(moment.minute, 2)):\(padded(moment.second, 2))"
        let day = "\(padded(moment.day, 2)) \(months[moment.month - 1]) \(padded(moment.year, 4))"
        return "\(shortWeekdays[moment.weekday]), \(day) \(time) GMT"
    }

    /// Good enough to tell 19xx from 20xx where no clock is at hand.
    package static let startOf2025: Int64 = 1_735_689_600

    static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    static let weekdays: [StaticString] = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]
    static let shortWeekdays: [StaticString] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

extension HTTPDate {
    private static func fixed(_ bytes: FieldText.Bytes) -> Int64? {
        var reader = Reader(rest: bytes)
        guard let seconds = reader.moment(), reader.skip(" GMT"), reader.atEnd else { return nil }
        return seconds
    }

    private static func zoned(_ bytes: FieldText.Bytes) -> Int64? {
        var reader = Reader(rest: bytes)
        guard let seconds = reader.moment(), let offset = reader.zone(), reader.atEnd else { return nil }
        return seconds - Int64(offset)
    }

    private static func obsolete(_ bytes: FieldText.Bytes, now: Int64) -> Int64? {
        var reader = Reader(rest: bytes)
        guard reader.name(in: weekdays) != nil, reader.skip(", "),
            let day = reader.number(2), reader.skip("-"), let month = reader.name(in: months), reader.skip("-"),
            let year = reader.number(2), reader.skip(" "), let time = reader.time(), reader.skip(" GMT"), reader.atEnd
        else { return nil }
        let thisYear = Calendar(seconds: min(max(now, Calendar.first), Calendar.last)).year
        return Calendar.seconds(year: fullYear(year, thisYear: thisYear), month: month + 1, day: day, time: time)
    }

    private static func asctime(_ bytes: FieldText.Bytes) -> Int64? {
        var reader = Reader(rest: bytes)
        guard reader.name(in: shortWeekdays) != nil, reader.skip(" "), let month = reader.name(in: months),
            reader.skip(" "), let day = reader.skip(" ") ? reader.number(1) : reader.number(2), reader.skip(" "),
            let time = reader.time(), reader.skip(" "), let year = reader.number(4), reader.atEnd
        else { return nil }
        return Calendar.seconds(year: year, month: month + 1, day: day, time: time)
    }

    /// The latest year that ends in the two digits and is at most 50 years on.
    private static func fullYear(_ digits: Int, thisYear: Int) -> Int {
        let latest = thisYear + 50
        let year = latest - latest % 100 + digits
        return year > latest ? year - 100 : year
    }

    /// Takes a date apart from the left.
    private struct Reader {
        var rest: FieldText.Bytes

        var atEnd: Bool { rest.isEmpty }

        mutating func skip(_ text: StaticString) -> Bool {
            guard text.withUTF8Buffer({ rest.starts(with: $0) }) else { return false }
            rest.removeFirst(text.utf8CodeUnitCount)
            return true
        }

        mutating func number(_ width: Int) -> Int? {
            guard rest.count >= width, let value = FieldText.decimal(rest.prefix(width)) else { return nil }
            rest.removeFirst(width)
            return Int(value)
        }

        /// The index of the name that comes next.
        mutating func name(in names: [StaticString]) -> Int? {
            names.firstIndex { skip($0) }
        }

        /// A weekday, a date and a time of day, as if in UTC.
        mutating func moment() -> Int64? {
            guard name(in: shortWeekdays) != nil, skip(", "), let day = number(2), skip(" "),
                let month = name(in: months), skip(" "), let year = number(4), skip(" "), let time = time()
            else { return nil }
            return Calendar.seconds(year: year, month: month + 1, day: day, time: time)
        }

        /// How many seconds a zone is ahead of UTC.
        mutating func zone() -> Int? {
            if skip(" UTC") { return 0 }
            let isAhead = skip(" +")
            guard isAhead || skip(" -"), let hours = number(2), let minutes = number(2), hours < 24, minutes < 60
            else { return nil }
            return (hours * 60 + minutes) * (isAhead ? 60 : -60)
        }

        /// Seconds of the day.
        mutating func time() -> Int? {
            guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2),
                hour < 24, minute < 60, second <= 60
            else { return nil }
            return (hour * 60 + minute) * 60 + second
        }
    }
}

extension HTTPDate {
    /// A moment in the Gregorian calendar, UTC, of the years 1 to 9999.
    private struct Calendar {
        var year: Int
        var month: Int
        var day: Int
        /// Monday is 0.
        var weekday: Int
        var hour: Int
        var minute: Int
        var second: Int

        static let first: Int64 = -62_135_596_800
        static let last: Int64 = 253_402_300_799
        /// Days from the first of January of the year 1 to that of 1970.
        private static let epoch = 719_162

        init(seconds: Int64) {
            let days = Int((seconds - Self.first) / 86_400)
            let time = Int((seconds - Self.first) % 86_400)
            var year = days / 366 + 1
            while Self.days(beforeYear: year + 1) <= days { year += 1 }
            var rest = days - Self.days(beforeYear: year)
            var month = 1
            while rest >= Self.days(in: month, of: year) {
                rest -= Self.days(in: month, of: year)
                month += 1
            }
            (self.year, self.month, self.day, self.weekday) = (year, month, rest + 1, days % 7)
            (hour, minute, second) = (time / 3600, time % 3600 / 60, time % 60)
        }

        static func seconds(year: Int, month: Int, day: Int, time: Int) -> Int64? {
            guard year >= 1, day >= 1, day <= days(in: month, of: year) else { return nil }
            let beforeMonth = (1..<month).reduce(0) { $0 + days(in: $1, of: year) }
            return Int64(days(beforeYear: year) + beforeMonth + day - 1 - epoch) * 86_400 + Int64(time)
        }

        private static func days(beforeYear year: Int) -> Int {
            let whole = year - 1
            return whole * 365 + whole / 4 - whole / 100 + whole / 400
        }

        private static func days(in month: Int, of year: Int) -> Int {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            return month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
        }
    }
}
