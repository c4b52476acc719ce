import LannerMachine

/// The parts of heads that the tests of this folder are made of.
enum Heads {
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let dayBefore = "Sat, 05 Nov 1994 08:49:37 GMT"
    static let secondBefore = "Sun, 06 Nov 1994 08:49:36 GMT"
    static let otherDay = "Fri, 04 Nov 1994 08:49:37 GMT"

    /// A 200 of a file with everything a good server tells.
    static func whole(
        tag: String? = "\"a\"", modified: String? = dayBefore, length: Int64? = 1000, _ more: HeaderFields = [:]
    ) -> ResponseHead {
        ResponseHead(status: 200, fields: fields(tag, modified, length, more))
    }

    /// A 206 of a part of it.
    static func part(
        _ range: Range<Int64>, of total: Int64? = 1000, tag: String? = "\"a\"", modified: String? = dayBefore,
        _ more: HeaderFields = [:]
    ) -> ResponseHead {
        var head = ResponseHead(
            status: 206, fields: fields(tag, modified, range.upperBound - range.lowerBound, more))
        head.fields["Content-Range"] =
            "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total.map(String.init) ?? "*")"
        return head
    }

    static func status(_ status: Int, _ fields: HeaderFields = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: fields)
    }

    private static func fields(
        _ tag: String?, _ modified: String?, _ length: Int64?, _ more: HeaderFields
    ) -> HeaderFields {
        var fields: HeaderFields = ["Date": date]
        fields["ETag"] = tag
        fields["Last-Modified"] = modified
        fields["Content-Length"] = length.map(String.init)
        for field in more.fields { fields[field.name] = field.value }
        return fields
    }
}
