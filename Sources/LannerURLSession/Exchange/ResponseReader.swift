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
        let length = head.bodyLength
        if length == .contradictory { return .refuse(.contradictoryLength(of: head)) }
        return add(count, to: 0, of: length.value, head, isReported: false)
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
        return switch head.bodyLength {
        case .contradictory: .refuse(.contradictoryLength(of: head))
        case .bytes(let length) where length > 0: .refuse(.length(announced: length, received: 0))
        case .bytes, .unknown: .complete(head: head)
        }
    }
}

extension ResponseHead {
    /// How many bytes of the body must arrive; unknown where nothing can be compared with them.
    var bodyLength: ContentLength {
        // The body of a redirect is dropped; 204 and 304 have none, whatever the field says (RFC 9112, 6.3).
        // Nor is what arrives of a coded one what the length was announced for: URLSession decodes it.
        fields.isContentCoded || isRedirect || status == 204 || status == 304
            ? .unknown : ContentLength(fields: fields)
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
