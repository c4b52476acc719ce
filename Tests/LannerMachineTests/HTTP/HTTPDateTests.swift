import LannerMachine
import Testing

@Suite struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Thu, 01 Mar 1900 00:00:00 GMT", -2_203_891_200), ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
        ("Tue, 29 Feb 1600 00:00:00 GMT", -11_670_998_400),
    ])
    func readsAndWritesTheFixedFormat(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate.seconds(text) == seconds)
        #expect(HTTPDate.text(seconds) == text)
    }

    @Test(arguments: [
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777), ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Sat Dec 31 23:59:59 2016", 1_483_228_799), ("Saturday, 31-Dec-16 23:59:59 GMT", 1_483_228_799),
        // A leap second is the first of the next minute; the weekday is not compared; white space around is none of it.
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800), ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        (" \tSun, 06 Nov 1994 08:49:37 GMT ", 784_111_777),
    ])
    func readsTheOldFormats(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    /// RFC 9110, 5.6.7: more than 50 years ahead is meant to be past.
    @Test(arguments: [
        ("2025", "75", "2075"), ("2025", "76", "1976"), ("2025", "25", "2025"), ("2025", "24", "2024"),
        ("2049", "99", "2099"), ("2049", "00", "2000"), ("1980", "30", "2030"), ("1980", "31", "1931"),
    ])
    func twoDigitYearsAreAtMostFiftyYearsAhead(_ now: String, _ digits: String, _ year: String) throws {
        let now = try #require(HTTPDate.seconds("Mon, 01 Jul \(now) 00:00:00 GMT"))
        let read = HTTPDate.seconds("Monday, 15-Mar-\(digits) 10:20:30 GMT", now: now)
        #expect(read == HTTPDate.seconds("Mon, 15 Mar \(year) 10:20:30 GMT"))
        #expect(HTTPDate.seconds("Monday, 15-Mar-\(digits) 10:20:30 GMT", now: .max) != nil)
        #expect(HTTPDate.seconds("Monday, 15-Mar-\(digits) 10:20:30 GMT", now: .min) != read)
    }

    @Test(arguments: [
        "", "0", "-1", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 2100 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT, x",
        "Sun, 06 Nov 1994  08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994", "Sun Nov 06 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT", "1994-11-06T08:49:37Z",
    ])
    func readsNothingElse(_ text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 +0000", 784_111_777), ("Sun, 06 Nov 1994 08:49:37 UTC", 784_111_777),
            ("Sun, 06 Nov 1994 09:49:37 +0100", 784_111_777), ("Sun, 06 Nov 1994 03:19:37 -0530", 784_111_777),
            ("Sun, 06 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49:37 +2400", nil),
            ("Sun, 06 Nov 1994 08:49:37 +0060", nil), ("Sun, 06 Nov 1994 08:49:37 +000", nil),
            ("Sun, 06 Nov 1994 08:49:37 +00000", nil), ("Sun, 06 Nov 1994 08:49:37 0000", nil),
            ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sun, 31 Nov 1994 08:49:37 +0000", nil),
        ] as [(String, Int64?)])
    func readsOtherZonesBesides(_ text: String, _ seconds: Int64?) {
        #expect(HTTPDate.zonedSeconds(text) == seconds)
    }

    @Test func everyDateComesBack() {
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<5000 {
            let seconds = Int64.random(in: -62_135_596_800...253_402_300_799, using: &generator)
            #expect(HTTPDate.seconds(HTTPDate.text(seconds)) == seconds)
        }
    }

    @Test func weekdaysFollowEachOtherThroughAWholeCycle() {
        let fromSaturday = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"]
        let firstOf2000: Int64 = 10_957
        for day in stride(from: Int64(0), to: 146_097, by: 53) {
            #expect(HTTPDate.text((firstOf2000 + day) * 86_400).hasPrefix(fromSaturday[Int(day % 7)]))
        }
    }

    @Test func whatCannotBeWrittenBecomesTheNearest() {
        #expect(HTTPDate.text(.max) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.text(.min) == "Mon, 01 Jan 0001 00:00:00 GMT")
    }
}

@Suite struct RetryAfterTests {
    static let now: Int64 = 784_111_777

    @Test(arguments: [
        ("0", 0), ("120", 120), (" 7 ", 7), ("86400", 86_400), ("86401", 86_400), ("99999999999999999999999", 86_400),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:50:37 GMT", 60), ("Sun Nov  6 08:49:38 1994", 1),
        ("Sunday, 06-Nov-94 08:49:39 GMT", 2), ("Sun, 06 Nov 1994 08:49:36 GMT", 0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
    ])
    func isReadInBothForms(_ value: String, _ seconds: Int64) {
        #expect(RetryAfter.delay(fields: ["Retry-After": value], wallSeconds: Self.now) == .seconds(seconds))
    }

    @Test(arguments: ["", "-1", "1.5", "+3", "soon", "1, 2", "1 s", "０"])
    func isNothingElse(_ value: String) {
        #expect(RetryAfter.delay(fields: ["Retry-After": value], wallSeconds: Self.now) == nil)
        #expect(RetryAfter.delay(fields: [:], wallSeconds: Self.now) == nil)
    }

    @Test func aDateCountsFromTheResponsesOwnDate() {
        let fields: HeaderFields = [
            "Retry-After": "Sun, 06 Nov 1994 08:50:37 GMT", "Date": "Sun, 06 Nov 1994 08:50:07 GMT",
        ]
        #expect(RetryAfter.delay(fields: fields, wallSeconds: 0) == .seconds(30))
        #expect(RetryAfter.delay(fields: ["Retry-After": "5", "Date": "x"], wallSeconds: 0) == .seconds(5))
    }

    @Test(arguments: [Int64.min, -1, 0, .max])
    func aClockThatIsFarOffDoesNotTrap(_ wall: Int64) {
        let delay = RetryAfter.delay(fields: ["Retry-After": "Sun, 06 Nov 1994 08:50:37 GMT"], wallSeconds: wall)
        #expect(delay == (wall <= 0 ? .seconds(86_400) : .zero))
    }
}
