import LannerCore

/// Decides what the responses, bytes and the end that URLSession reports for one task mean.
///
/// On Linux a task reports every header that passes by as a response: 1xx, a proxy's answer to CONNECT, then the
/// final one. Only the last one before the first byte of a body, or before the end, is the response.
struct ResponseReader {
    /// What becomes of a piece of the body.
    enum Piece {
        /// It is the receiver's, behind the head where that was not reported yet.
        case deliver(head: ResponseHead?)
        /// It belongs to a redirect, whose body nobody reads.
        case drop
        /// The exchange cannot go on.
        case refuse(TransportFailure)
    }

    /// What becomes of the end.
    enum End {
        /// The body is complete; the head comes first where it was not reported yet.
        case complete(head: ResponseHead?)
        /// It is not.
        case refuse(TransportFailure)
    }

    private enum State {
        /// The latest response, if any; another may replace it.
        case open(ResponseHead?)
        /// Body bytes came: this is the response.
        case decided(ResponseHead, length: Int64?, received: Int64)
    }

    private var state = State.open(nil)

    /// A response came. Whatever was held of an earlier one is forgotten.
    mutating func response(_ head: ResponseHead) -> TransportFailure? {
        switch state {
        case .open:
            state = .open(head)
            return nil
        case .decided:
            // What would follow is a second body that the receiver could not tell from the first.
            return TransportFailure(.malformedResponse, "The server sent a second response after a body had begun.")
        }
    }

    /// Body bytes came.
    mutating func bytes(_ count: Int) -> Piece {
        switch state {
        case .open(nil):
            return .refuse(TransportFailure(.malformedResponse, "Bytes came before a response header."))
        case .open(let head?):
            return first(count, of: head)
        case .decided(let head, let length, let received):
            return add(count, to: received, of: length, head, isReported: true)
        }
    }

    /// The task ended without an error; `last` is the response that the task itself holds.
    mutating func end(_ last: ResponseHead?) -> End {
        switch state {
        case .open(let latest):
            guard let head = last ?? latest else {
                return .refuse(.noResponse)
            }
            return decide(head)
        case .decided(_, let length, let received):
            guard let length, received != length else { return .complete(head: nil) }
            return .refuse(.length(announced: length, received: received))
        }
    }

    private mutating func first(_ count: Int, of head: ResponseHead) -> Piece {
        guard head.status >= 200 else { return .refuse(.notFinal(head.status)) }
        guard !head.isRedirect else { return .drop }
        switch BodyLength(of: head) {
        case .invalid(let text): return .refuse(.contradictoryLength(text))
        case .unchecked: return add(count, to: 0, of: nil, head, isReported: false)
        case .announced(let length): return add(count, to: 0, of: length, head, isReported: false)
        }
    }

    private mutating func add(
        _ count: Int, to received: Int64, of length: Int64?, _ head: ResponseHead, isReported: Bool
    ) -> Piece {
        let received = received + Int64(count)
        state = .decided(head, length: length, received: received)
        if let length, received > length { return .refuse(.length(announced: length, received: received)) }
        return .deliver(head: isReported ? nil : head)
    }

    /// The end of a response without a body.
    private func decide(_ head: ResponseHead) -> End {
        guard head.status >= 200 else { return .refuse(.notFinal(head.status)) }
        switch BodyLength(of: head) {
        case .invalid(let text):
            return .refuse(.contradictoryLength(text))
        case .announced(let length) where length > 0:
            return .refuse(.length(announced: length, received: 0))
        case .announced, .unchecked:
            return .complete(head: head)
        }
    }
}

/// How many bytes the body of a response must have.
enum BodyLength: Equatable {
    /// Nothing can be compared with the bytes that come.
    case unchecked
    case announced(Int64)
    /// The field is there and is not one number (RFC 9110, 8.6).
    case invalid(String)

    init(of head: ResponseHead) {
        // The transport decodes a content coding (RFC 9110, 8.4) and drops the body of a redirect; chunks and the
        // absence of a body in 204 and 304 override the field (RFC 9112, 6.3).
        guard !head.isEncoded, !head.isRedirect, head.status != 204, head.status != 304,
            head.fields["Transfer-Encoding"] == nil
        else {
            self = .unchecked
            return
        }
        self = Self.parse(head.fields.values(of: "Content-Length"))
    }

    /// Several lines, or one with a list, are accepted when all say the same.
    static func parse(_ lines: [String]) -> BodyLength {
        let values = FieldText.members(lines)
        guard let first = values.first else { return .unchecked }
        guard values.allSatisfy({ $0 == first }), let length = FieldText.decimal(first) else {
            return .invalid(lines.joined(separator: ", "))
        }
        return .announced(length)
    }
}

extension ResponseHead {
    /// Whether the body that arrives is not the one the length was announced for: URLSession decodes it.
    var isEncoded: Bool {
        fields.values(of: "Content-Encoding").contains { !HeaderFields.same($0, "identity") }
    }

    /// The statuses URLSession treats as redirects when there is a `Location`.
    var isRedirect: Bool {
        switch status {
        case 301...303, 305...308: true
        default: false
        }
    }
}

extension TransportFailure {
    static func length(announced: Int64, received: Int64) -> TransportFailure {
        TransportFailure(.lengthMismatch, "The server announced \(announced) bytes and sent \(received).")
    }
}
