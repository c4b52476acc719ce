import Foundation

/// The first line and the header of a request (RFC 9112, 2 to 5).
struct RequestHead: Sendable {
    var method: String
    var target: String
    /// The target's path with its percent-encoding undone, without the query.
    var path: String
    var fields: LoopbackServer.Fields
    /// Whether the client speaks HTTP/1.0, which knows no chunks and, here, no persistence.
    var isOld: Bool
    /// How many bytes of body follow the header.
    var bodyLength: Int

    /// Whether the connection stays open after the answer, as far as the client decides it.
    var allowsKeepAlive: Bool {
        let options = fields.values(of: "Connection").flatMap { $0.split(separator: ",") }
        return !isOld && !options.contains { LoopbackServer.Fields.same($0.trimmingSpaces, "close") }
    }
}

/// A request the server does not take: the status to answer with.
struct BadRequest: Error, Equatable {
    var status: Int
}

extension RequestHead {
    /// The longest header that is taken.
    static let limit = 64 * 1024

    /// Reads the lines of a head, without the empty line at its end.
    init(lines: [Substring]) throws(BadRequest) {
        guard let first = lines.first else { throw BadRequest(status: 400) }
        let words = first.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[0].isToken, !words[1].isEmpty, words[2].hasPrefix("HTTP/") else {
            throw BadRequest(status: 400)
        }
        guard words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else { throw BadRequest(status: 505) }
        method = String(words[0])
        target = String(words[1])
        isOld = words[2] == "HTTP/1.0"
        path = try RequestHead.path(of: words[1])
        fields = try RequestHead.fields(lines.dropFirst())
        bodyLength = try RequestHead.bodyLength(fields)
        if !isOld, fields.values(of: "Host").count != 1 { throw BadRequest(status: 400) }
    }

    private static func fields(_ lines: ArraySlice<Substring>) throws(BadRequest) -> LoopbackServer.Fields {
        var fields = LoopbackServer.Fields()
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].isToken,
                !line.utf8.contains(where: { $0 == 0 || $0 == 0x0D })
            else {
                throw BadRequest(status: 400)
            }
            fields.append(String(line[..<colon]), line[line.index(after: colon)...].trimmingSpaces)
        }
        return fields
    }

    private static func bodyLength(_ fields: LoopbackServer.Fields) throws(BadRequest) -> Int {
        if fields["Transfer-Encoding"] != nil { throw BadRequest(status: 501) }
        let values = Set(fields.values(of: "Content-Length"))
        guard let value = values.first else { return 0 }
        guard values.count == 1, let length = Int(digits: value) else { throw BadRequest(status: 400) }
        return length
    }

    /// The path of a target in origin or absolute form (RFC 9112, 3.2).
    private static func path(of target: Substring) throws(BadRequest) -> String {
        var path = target.prefix { $0 != "?" && $0 != "#" }
        if path.hasPrefix("http://") {
            path = path.dropFirst("http://".count).drop { $0 != "/" }
            if path.isEmpty { path = "/" }
        }
        guard path.hasPrefix("/") else { throw BadRequest(status: 400) }
        return path.removingPercentEncoding ?? String(path)
    }
}

extension Int {
    /// A number of digits only, as header fields have it; nil when it is none or does not fit.
    init?(digits text: some StringProtocol) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        self.init(String(text))
    }
}

extension StringProtocol {
    /// Without the spaces and tabs around it.
    var trimmingSpaces: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let tail = drop(while: isSpace)
        return String(tail.prefix(tail.reversed().drop(while: isSpace).count))
    }

    /// Whether it is a token, what methods and field names are made of (RFC 9110, 5.6.2).
    var isToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }
}
