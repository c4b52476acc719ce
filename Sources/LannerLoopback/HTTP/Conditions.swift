import Foundation

/// The conditional fields of a request against a resource, in their order of precedence (RFC 9110, 13.2.2).
struct Conditions {
    var fields: LoopbackServer.Fields
    var entityTag: String?
    var lastModified: Date?
    var now: Date

    /// 412 or 304 when a precondition says so; nil when the request is to be carried out.
    var refusal: Int? {
        if let tags = fields["If-Match"] {
            if !matches(tags, strongly: true) { return 412 }
        } else if let date = date("If-Unmodified-Since"), let modified, modified > date {
            return 412
        }
        if let tags = fields["If-None-Match"] {
            return matches(tags, strongly: false) ? 304 : nil
        }
        if let date = date("If-Modified-Since"), let modified, modified <= date { return 304 }
        return nil
    }

    /// Whether `Range` is to be looked at: there is no `If-Range`, or it holds (RFC 9110, 13.1.5).
    var rangeApplies: Bool {
        guard let validator = fields["If-Range"] else { return true }
        if validator.hasSuffix("\"") { return isStrong(validator) && validator == entityTag }
        // A date counts only when the resource cannot have changed twice within its second (8.8.2.2).
        guard let date = HTTPDate.parse(validator), let modified else { return false }
        return date == modified && modified < HTTPDate.seconds(now)
    }

    private var modified: Int64? { lastModified.map(HTTPDate.seconds) }

    private func date(_ name: String) -> Int64? {
        fields[name].flatMap(HTTPDate.parse)
    }

    private func matches(_ list: String, strongly: Bool) -> Bool {
        if list == "*" { return true }
        guard let entityTag else { return false }
        return list.split(separator: ",").map(\.trimmingSpaces).contains { tag in
            strongly ? isStrong(tag) && tag == entityTag : opaque(tag) == opaque(entityTag)
        }
    }

    private func isStrong(_ tag: String) -> Bool { tag.hasPrefix("\"") }

    private func opaque(_ tag: String) -> Substring { tag.dropFirst(tag.hasPrefix("W/") ? 2 : 0) }
}
