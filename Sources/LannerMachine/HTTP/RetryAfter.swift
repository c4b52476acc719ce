/// How long a server asks to be left alone (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// No server is taken at its word for longer.
    package static let longest: Int64 = 24 * 60 * 60

    /// The delay of a response, from nothing to a day; nil when there is none or it cannot be read.
    ///
    /// A date counts from the response's own `Date`, so that a clock that is wrong, here or there, does no harm;
    /// without one, from `wallSeconds`, the time of day here.
    package static func delay(fields: HeaderFields, wallSeconds: Int64) -> Duration? {
        guard let value = fields["Retry-After"] else { return nil }
        let bytes = FieldText.trimmed(value)
        if !bytes.isEmpty, bytes.allSatisfy(FieldText.isDigit) {
            return clamped(FieldText.decimal(bytes) ?? longest)
        }
        guard let until = HTTPDate.seconds(value, now: wallSeconds) else { return nil }
        let from = fields["Date"].flatMap { HTTPDate.seconds($0, now: wallSeconds) } ?? wallSeconds
        let (delay, overflow) = until.subtractingReportingOverflow(from)
        return clamped(overflow ? (from < 0 ? longest : 0) : delay)
    }

    private static func clamped(_ seconds: Int64) -> Duration {
        .seconds(min(max(seconds, 0), longest))
    }
}
