import Foundation

/// One answer, ready to be sent, with everything that is wrong with it.
struct Answer: Sendable {
    /// A stretch of a body.
    struct Segment: Sendable {
        var body: LoopbackServer.Resource.Body
        var range: Range<Int64>

        var count: Int64 { range.upperBound - range.lowerBound }
    }

    /// What ends the connection, whatever HTTP says.
    enum Ending: Sendable {
        /// A close.
        case close
        /// A reset.
        case reset
    }

    /// What is sent in the header's place, and how much of it.
    enum Head: Sendable {
        /// The status line and the fields.
        case whole
        /// The first half of it, and then the ending.
        case half
        /// These bytes, and then the ending.
        case raw([UInt8])
    }

    var status: Int
    var fields = LoopbackServer.Fields()
    var segments: [Segment] = []
    var framing = LoopbackServer.Resource.Framing.contentLength
    var head = Head.whole
    /// What `Content-Length` says instead of the truth.
    var claimedLength: Int64?
    /// How many bytes of body are sent before the ending.
    var stopsAfter: Int64?
    /// How many bytes of body are sent before the release is waited for.
    var stallsAfter: Int64?
    /// Whether the release is waited for before anything is sent.
    var waitsFirst = false
    var bytesPerSecond: Int?
    var ending: Ending?

    /// The length of the body.
    var length: Int64 { segments.reduce(0) { $0 + $1.count } }

    /// An answer with a short body.
    static func plain(_ status: Int, _ fields: LoopbackServer.Fields = [:], body: [UInt8]? = nil) -> Answer {
        var answer = Answer(status: status, fields: fields)
        let body = body ?? Array("\(status) \(reason(status))\n".utf8)
        if answer.mayHaveBody {
            answer.segments = [Segment(body: .bytes(body), range: 0..<Int64(body.count))]
        }
        return answer
    }

    /// Whether the status allows a body (RFC 9110, 6.4.1).
    var mayHaveBody: Bool { status != 204 && status != 304 && status >= 200 }

    static func reason(_ status: Int) -> String {
        reasons[status] ?? (status < 400 ? "Status" : "Error")
    }

    private static let reasons: [Int: String] = [
        200: "OK", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found",
        303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 410: "Gone", 412: "Precondition Failed", 416: "Range Not Satisfiable",
        425: "Too Early", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported",
    ]
}
