extension LoopbackServer {
    /// How one request is answered: as it should be, or with a fault.
    ///
    /// Counts of bytes are of the body that is sent, after any range was applied. Faults of the body do nothing to
    /// the answer of a HEAD request.
    public enum Step: Sendable {
        /// As it should be.
        case pass
        /// The resource is replaced from now on, and then served.
        case changeTo(Resource)

        // Other answers.

        /// A status with a body, for example a 503 with `Retry-After`.
        case status(Int, Fields = [:], body: [UInt8] = [])
        /// A redirect; the location is sent as it is given.
        case redirect(to: String, status: Int = 302)
        /// The answer it should be, with these fields in the place of those of the same name.
        case fields(Fields)
        /// These bytes and nothing else, then the close. With no bytes: a close without an answer.
        case raw([UInt8])

        // Ranges.

        /// `Range` is ignored: a 200 with everything.
        case ignoreRange
        /// A 206 of another range, moved by this many bytes (kept inside the resource), and honest about it.
        case wrongRange(offset: Int64)
        /// A 206 with the bytes asked for and this `Content-Range`; without the field for nil.
        case contentRange(String?)
        /// A 206 whose `Content-Range` and `Content-Length` tell different lengths.
        case contradictingContentRange
        /// A 206 in `multipart/byteranges`, with the range as its only part.
        case multipart

        // Bodies.

        /// The connection is closed after this many bytes; after the header for 0.
        case cut(afterBytes: Int64)
        /// The connection is reset (RST) after this many bytes. What was sent just before may be lost, too.
        case reset(afterBytes: Int64)
        /// The connection is reset (RST) without an answer.
        case resetAtOnce
        /// Nothing more is sent after this many bytes until ``LoopbackServer/release()``; then the rest.
        case stall(afterBytes: Int64)
        /// Nothing at all is sent until ``LoopbackServer/release()``; then the answer.
        case hold
        /// The body is sent at this rate.
        case trickle(bytesPerSecond: Int)
        /// The byte at this position of the resource is sent with all its bits turned over.
        case corrupt(at: Int64)
        /// `Content-Length` claims this many bytes, whatever there are; the connection is closed after them.
        case truncatedBody(claiming: Int64)
        /// The connection is closed in the middle of the header.
        case closeInHeader
    }
}
