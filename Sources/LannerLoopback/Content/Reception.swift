import Foundation

/// A site without connections: what the server would send, for fakes that hand it over in another way. Its places are
/// compared as they are given.
package struct Reception: Sendable {
    private var site = Site()
    /// What is at every place that nothing was put at.
    private var elsewhere: Published?

    /// Nothing anywhere.
    package init() {}

    /// Puts a resource at a place, in the stead of what was there; nil takes it away.
    package mutating func serve(_ resource: LoopbackServer.Resource?, at place: String) {
        site.put(resource.map(Published.init), at: place)
    }

    /// Puts a resource at every place that has none of its own.
    package mutating func serveElsewhere(_ resource: LoopbackServer.Resource?) {
        elsewhere = resource.map(Published.init)
    }

    /// Whether a place has a resource of its own.
    package func has(_ place: String) -> Bool {
        site.resource(at: place) != nil
    }

    /// What a GET with these fields is answered with, of the first of some places that has a resource.
    package func reply(
        at places: [String], _ fields: LoopbackServer.Fields, _ step: LoopbackServer.Step, now: Date
    ) -> Reply {
        let path = places.last ?? "/"
        let request = RequestHead(
            method: "GET", target: path, path: path, fields: fields, isOld: false, bodyLength: 0)
        let published = places.lazy.compactMap(site.resource).first ?? elsewhere
        return Reply(answer: Answerer(request: request, published: published, now: now).answer(step), now: now)
    }
}

/// An answer to be handed over: a head, and bytes that are made when they are asked for.
package struct Reply: Sendable {
    /// The status.
    package let status: Int
    /// The header fields, those of the framing included.
    package let fields: LoopbackServer.Fields
    private let segments: [Answer.Segment]

    fileprivate init(answer: Answer, now: Date) {
        status = answer.status
        segments = answer.mayHaveBody ? answer.segments : []
        var fields = LoopbackServer.Fields()
        fields.append("Date", HTTPDate.text(now))
        if answer.mayHaveBody, answer.framing == .contentLength {
            fields.append("Content-Length", String(answer.claimedLength ?? answer.length))
        }
        fields.override(with: answer.fields)
        self.fields = fields
    }

    /// The length of the body.
    package var length: Int64 { segments.reduce(0) { $0 + $1.count } }

    /// Whether another answer to the same request is this one. Of the bytes is compared where in the resource they are.
    package func isLike(_ other: Reply) -> Bool {
        status == other.status && fields == other.fields && segments.map(\.range) == other.segments.map(\.range)
    }

    /// The bytes of the body from a position on: up to `count`, fewer at the end of a stretch; none behind the end.
    package func bytes(from position: Int64, count: Int) -> Data {
        var start = position
        for segment in segments {
            if start < segment.count {
                let length = Int(min(Int64(count), segment.count - start))
                var data = Data(count: length)
                data.withUnsafeMutableBytes { segment.body.copy(from: segment.range.lowerBound + start, to: $0) }
                return data
            }
            start -= segment.count
        }
        return Data()
    }
}
