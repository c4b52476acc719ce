import Foundation

/// Decides what a request is answered with.
struct Answerer {
    typealias Step = LoopbackServer.Step

    var request: RequestHead
    /// What is at the path; nil when nothing is.
    var published: Published?
    var now: Date

    /// The answer under a step of the script.
    func answer(_ step: Step) -> Answer {
        guard request.method == "GET" || request.method == "HEAD" else { return .plain(405, ["Allow": "GET, HEAD"]) }
        var answer = content(step)
        spoil(&answer, step)
        return answer
    }

    /// Which content the answer has.
    private func content(_ step: Step) -> Answer {
        switch step {
        case .status(let status, let fields, let body): .plain(status, fields, body: body)
        case .redirect(let location, let status): .plain(status, ["Location": location])
        case .ignoreRange: resource { _ in .everything }
        case .wrongRange(let offset): resource { $0.moved(by: offset, within: length) }
        case .multipart: multipart(resource { $0 })
        case .pass, .changeTo, .fields, .raw, .contentRange, .contradictingContentRange, .cut, .reset, .resetAtOnce,
            .stall, .hold, .trickle, .corrupt, .truncatedBody, .closeInHeader:
            resource { $0 }
        }
    }

    /// What is wrong with the answer.
    private func spoil(_ answer: inout Answer, _ step: Step) {
        switch step {
        case .pass, .changeTo, .status, .redirect, .ignoreRange, .wrongRange, .multipart: break
        case .fields(let fields): answer.fields.override(with: fields)
        case .raw(let bytes): (answer.head, answer.ending) = (.raw(bytes), .close)
        case .contentRange(let value): if answer.status == 206 { answer.fields["Content-Range"] = value }
        case .contradictingContentRange: contradict(&answer)
        case .cut(let count): (answer.stopsAfter, answer.ending) = (max(0, count), .close)
        case .reset(let count): (answer.stopsAfter, answer.ending) = (max(0, count), .reset)
        case .resetAtOnce: (answer.head, answer.ending) = (.raw([]), .reset)
        case .stall(let count): answer.stallsAfter = max(0, count)
        case .hold: answer.waitsFirst = true
        case .trickle(let rate): answer.bytesPerSecond = max(1, rate)
        case .corrupt(let position): answer.segments = answer.segments.flatMap { $0.corrupted(at: position) }
        case .truncatedBody(let claim): (answer.claimedLength, answer.ending) = (max(0, claim), .close)
        case .closeInHeader: (answer.head, answer.ending) = (.half, .close)
        }
    }

    private var length: Int64 { published?.resource.length ?? 0 }

    /// The resource, or the part of it that `choose` makes of what was asked for.
    private func resource(_ choose: (AskedRange) -> AskedRange) -> Answer {
        guard let published else { return .plain(404) }
        let resource = published.resource
        let conditions = Conditions(
            fields: request.fields, entityTag: published.entityTag, lastModified: resource.lastModified, now: now)
        if let status = conditions.refusal { return .plain(status, published.validators) }
        // Ranges are for GET alone (RFC 9110, 14.2).
        let isRanged = request.method == "GET" && resource.acceptsRanges && conditions.rangeApplies
        let asked = AskedRange(field: isRanged ? request.fields["Range"] : nil, length: length)
        switch choose(asked) {
        case .everything: return whole(published)
        case .part(let range): return part(published, range)
        case .unsatisfiable: return .plain(416, ["Content-Range": "bytes */\(length)"])
        }
    }

    private func whole(_ published: Published) -> Answer {
        var answer = Answer(status: 200, fields: published.fields)
        answer.framing = published.resource.framing
        answer.segments = [.init(body: published.resource.body, range: 0..<length)]
        return answer
    }

    private func part(_ published: Published, _ range: Range<Int64>) -> Answer {
        var answer = whole(published)
        answer.status = 206
        answer.fields["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
        answer.fields.override(with: published.resource.fields)
        answer.segments = [.init(body: published.resource.body, range: range)]
        return answer
    }

    private func multipart(_ answer: Answer) -> Answer {
        guard answer.status == 206, let range = answer.fields["Content-Range"] else { return answer }
        let boundary = "lanner-part"
        let type = answer.fields["Content-Type"] ?? "application/octet-stream"
        let opening = Array("--\(boundary)\r\nContent-Type: \(type)\r\nContent-Range: \(range)\r\n\r\n".utf8)
        let closing = Array("\r\n--\(boundary)--\r\n".utf8)
        var answer = answer
        answer.fields["Content-Range"] = nil
        answer.fields["Content-Type"] = "multipart/byteranges; boundary=\(boundary)"
        answer.segments.insert(.init(body: .bytes(opening), range: 0..<Int64(opening.count)), at: 0)
        answer.segments.append(.init(body: .bytes(closing), range: 0..<Int64(closing.count)))
        return answer
    }

    private func contradict(_ answer: inout Answer) {
        guard answer.status == 206, let range = answer.segments.first?.range else { return }
        // One byte more than is sent.
        let total = max(length, range.upperBound + 1)
        answer.fields["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound)/\(total)"
    }
}

extension AskedRange {
    /// The same number of bytes elsewhere in the resource, as many of them as it has.
    fileprivate func moved(by offset: Int64, within length: Int64) -> AskedRange {
        switch self {
        case .everything, .unsatisfiable:
            return self
        case .part(let range):
            let (sum, overflow) = range.lowerBound.addingReportingOverflow(offset)
            let start = min(max(0, overflow ? offset : sum), length - 1)
            return .part(start..<start + min(range.upperBound - range.lowerBound, length - start))
        }
    }
}

extension Answer.Segment {
    /// The segment with one byte of it changed; itself when it does not hold the position.
    fileprivate func corrupted(at position: Int64) -> [Answer.Segment] {
        guard range.contains(position) else { return [self] }
        var byte: UInt8 = 0
        withUnsafeMutableBytes(of: &byte) { body.copy(from: position, to: $0) }
        return [
            .init(body: body, range: range.lowerBound..<position),
            .init(body: .bytes([~byte]), range: 0..<1),
            .init(body: body, range: position + 1..<range.upperBound),
        ]
    }
}
