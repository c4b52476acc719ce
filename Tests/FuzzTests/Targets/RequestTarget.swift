import Foundation

@testable import LannerLoopback

/// What clients send to the loopback server.
extension FuzzTarget {
    /// The size of the pieces in which the bytes arrive; then the bytes.
    static let request = FuzzTarget("request") { bytes in
        let size = Int(bytes.first ?? 1) % 64 + 1
        let sent = Array(bytes.dropFirst())
        let whole = heads([sent])
        let pieces = stride(from: 0, to: sent.count, by: size).map { Array(sent[$0..<min($0 + size, sent.count)]) }
        let cut = heads(pieces)
        try promise(whole.heads.map(\.text) == cut.heads.map(\.text) && whole.bad == cut.bad, "pieces matter")
        for head in whole.heads { try check(head) }
    }

    /// All requests up to the first that is none, bodies skipped.
    private static func heads(_ pieces: [[UInt8]]) -> (heads: [RequestHead], bad: BadRequest?) {
        var input = InputBuffer()
        var heads: [RequestHead] = []
        var bodyLeft = 0
        for piece in pieces {
            piece.withUnsafeBytes { input.append($0) }
            // As the server does: a look at the input that takes nothing would have it searched from the front.
            if bodyLeft > 0 { bodyLeft -= input.discard(bodyLeft) }
            do throws(BadRequest) {
                while bodyLeft == 0, let head = try input.nextHead() {
                    heads.append(head)
                    bodyLeft = head.bodyLength - input.discard(head.bodyLength)
                }
            } catch {
                return (heads, error)
            }
        }
        return (heads, nil)
    }

    private static func check(_ head: RequestHead) throws {
        try promise(head.method.isToken && head.path.hasPrefix("/") && head.bodyLength >= 0, head.text)
        try promise(head.fields.lines.allSatisfy { $0.name.isToken && !$0.value.contains("\n") }, head.text)
        var resource = LoopbackServer.Resource(.generated(seed: 1, length: 1000), entityTag: .strong("a"))
        resource.lastModified = Date(timeIntervalSince1970: 784_111_777)
        let now = Date(timeIntervalSince1970: 1_735_689_600)
        let answer = Answerer(request: head, published: Published(resource), now: now).answer(.pass)
        try promise([200, 206, 304, 405, 412, 416].contains(answer.status), "status \(answer.status)")
        guard answer.status == 206, let part = answer.segments.first?.range else { return }
        try promise(part.lowerBound >= 0 && part.upperBound <= 1000 && !part.isEmpty, "\(part) of 1000")
        let said = "bytes \(part.lowerBound)-\(part.upperBound - 1)/1000"
        try promise(answer.fields["Content-Range"] == said && head.fields["Range"] != nil, "\(said) is not said")
    }
}

extension RequestHead {
    fileprivate var text: String { "\(method) \(target) \(path) \(isOld) \(bodyLength) \(fields.lines)" }
}
