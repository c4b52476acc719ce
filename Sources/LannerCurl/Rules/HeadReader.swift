import LannerCore

/// Puts the response together from the header lines that libcurl hands over.
///
/// Every header of an exchange passes by: those of 1xx answers, the response's, then the trailers. A status line begins
/// anew; once a body has begun, or the head was asked for, nothing changes any more.
struct HeadReader {
    private typealias Bytes = Slice<UnsafeRawBufferPointer>

    private enum State {
        /// No status line yet.
        case empty
        /// In a header.
        case open(ResponseHead)
        /// The header is over; another may follow if its status is not a final one.
        case whole(ResponseHead)
        /// The head was taken; what comes are trailers.
        case taken
    }

    /// More than any server sends in earnest. libcurl has limits of its own, each version others.
    private static let mostBytes = 1 << 20
    /// Each takes more memory than a line of a few bytes, and a task keeps them.
    private static let mostFields = 2000

    private let overlooksChunks: Bool
    private var state = State.empty
    private var size = 0
    /// Whether the last line was no field, so that what goes on with it is none either.
    private var isLeftOut = false
    /// Whether there is a coding that libcurl does not undo.
    private var isCodingOverlooked = false
    /// How long the body of the head that was taken is.
    private(set) var length = ContentLength.unknown

    init(overlooksChunks: Bool = Library.overlooksChunks) {
        self.overlooksChunks = overlooksChunks
    }

    /// Whether nothing has come.
    var isUntouched: Bool {
        if case .empty = state { return size == 0 }
        return false
    }

    /// Adds a line, its end included; says why when the response is refused.
    mutating func add(_ line: UnsafeRawBufferPointer) -> TransportFailure? {
        if case .taken = state { return Self.isStatusLine(line[...]) ? .askedAgain : nil }
        size += line.count
        guard size <= Self.mostBytes else {
            return TransportFailure(.malformedResponse, "The header is larger than \(Self.mostBytes) bytes.")
        }
        // An old libcurl (7.68) lets it pass; in a tag that goes back to the server it would be refused each time.
        guard !line.contains(0) else {
            return TransportFailure(.malformedResponse, "The header has a NUL in it (RFC 9110, 5.5).")
        }
        let line = Self.withoutEnd(line)
        switch state {
        case .empty, .whole: return begin(line)
        case .open(var head):
            state = .empty
            if line.isEmpty {
                state = .whole(head)
            } else {
                add(line, to: &head)
                guard head.fields.fields.count <= Self.mostFields else {
                    return TransportFailure(
                        .malformedResponse, "The header has more than \(Self.mostFields) fields.")
                }
                state = .open(head)
            }
            return nil
        case .taken: return nil
        }
    }

    /// The response's head, once: at the first byte of the body, or at the end.
    mutating func take() throws(TransportFailure) -> ResponseHead? {
        switch state {
        case .taken: return nil
        case .empty, .open: throw .noResponse
        case .whole(let head):
            state = .taken
            guard head.status >= 200 else { throw .notFinal(head.status) }
            if isCodingOverlooked { throw .overlookedCoding }
            if let coding = Self.strangeCoding(head.fields) { throw .strangeCoding(coding) }
            if overlooksChunks, 200..<300 ~= head.status, Self.hasOverlookedChunks(head.fields) {
                throw .overlookedChunks
            }
            length = ContentLength(fields: head.fields)
            if length == .contradictory { throw .contradictoryLength(of: head) }
            return head
        }
    }

    /// A status line (RFC 9112, 4); the reason phrase may be missing, the space before it as well.
    private mutating func begin(_ line: Bytes) -> TransportFailure? {
        guard Self.isStatusLine(line) else {
            // A trailer behind a body without bytes, or the empty line behind it.
            if case .whole = state { return nil }
            return TransportFailure(.malformedResponse, "The response does not begin with a status line.")
        }
        let isSpace = { $0 == UInt8(ascii: " ") }
        let digits = line.drop { !isSpace($0) }.drop(while: isSpace).prefix { !isSpace($0) }
        guard digits.count == 3, let status = FieldText.decimal(digits), status >= 100 else {
            return TransportFailure(
                .malformedResponse, "The status line has no status: \(FieldText.shown(Self.text(line)))")
        }
        (size, isLeftOut, isCodingOverlooked) = (line.count, false, false)
        state = .open(ResponseHead(status: Int(status), fields: Self.room()))
        return nil
    }

    /// A transfer coding that nobody has asked for (RFC 9112, 7). libcurl from 8.14 on refuses it; before, it leaves
    /// the body as it is, and forgets its length; from 8.1 on also where one that changes nothing stands before
    /// `chunked`: the marks of the chunks would be in the file.
    private static func strangeCoding(_ fields: HeaderFields) -> String? {
        let codings = FieldText.members(fields.values(of: "Transfer-Encoding")).filter { !$0.isEmpty }
        let others = codings.filter { !FieldText.equal($0, "chunked") }
        let isBehind = others.count < codings.count && codings.first == others.first
        return others.first { isBehind || !FieldText.equal($0, "identity") }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// A length of zero beside chunks, which count (RFC 9112, 6.3).
    private static func hasOverlookedChunks(_ fields: HeaderFields) -> Bool {
        fields["Transfer-Encoding"] != nil
            && FieldText.members(fields.values(of: "Content-Length")).contains { FieldText.decimal($0) == 0 }
    }

    private static func isStatusLine(_ line: Bytes) -> Bool { line.starts(with: "HTTP/".utf8) }

    /// No fields yet, and memory for as many as most answers have.
    private static func room() -> HeaderFields {
        var fields: [HeaderFields.Field] = []
        fields.reserveCapacity(16)
        return HeaderFields(fields)
    }

    /// A field (RFC 9112, 5), or what goes on with the one before (obs-fold, 5.2). libcurl overlooks a coding that has a
    /// space before its colon, and, before 8.18, what of one is in another line.
    private mutating func add(_ line: Bytes, to head: inout ResponseHead) {
        if let first = line.first, FieldText.isSpace(first) {
            if isLeftOut { return }
            if let last = head.fields.fields.last, Self.isCoding(last.name) { isCodingOverlooked = true }
            return head.fields.continueLast(with: Self.text(FieldText.trimmed(line)))
        }
        isLeftOut = true
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let name = name(line[..<colon]) else { return }
        isLeftOut = false
        let value = FieldText.trimmed(line[(colon + 1)...])
        let leads = name.utf8.count == 8 && name.lowercased() == "location"
        head.fields.append(name, leads ? Self.reference(value) : Self.text(value))
    }

    /// The name of a field; nil of one that is none. A length counts also where there is a space behind.
    private mutating func name(_ bytes: Bytes) -> String? {
        if FieldText.isToken(bytes) { return Self.text(bytes) }
        let name = Self.text(FieldText.trimmed(bytes))
        if Self.isCoding(name) { isCodingOverlooked = true }
        return HeaderFields.same(name, "Content-Length") ? name : nil
    }

    private static func isCoding(_ name: String) -> Bool { HeaderFields.same(name, "Transfer-Encoding") }

    /// Where bytes that are no UTF-8 lead is not where the same letters would in UTF-8.
    private static func reference(_ bytes: Bytes) -> String {
        if let text = utf8(bytes) { return text }
        return bytes.map { $0 < 0x80 ? String(Unicode.Scalar($0)) : "%" + String($0, radix: 16, uppercase: true) }
            .joined()
    }

    private static func withoutEnd(_ line: UnsafeRawBufferPointer) -> Bytes {
        var line = line[...]
        if line.last == UInt8(ascii: "\n") { line.removeLast() }
        // To libcurl a line that begins with a return is the empty one.
        if line.first == UInt8(ascii: "\r") { return line.prefix(0) }
        while line.last == UInt8(ascii: "\r") { line.removeLast() }
        return line
    }

    /// UTF-8, or else Latin-1, as older servers have it.
    private static func text(_ bytes: Bytes) -> String {
        utf8(bytes) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    private static func utf8(_ bytes: Bytes) -> String? {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        return bytes.allSatisfy { $0 < 0x80 } || text.utf8.elementsEqual(bytes) ? text : nil
    }
}

extension TransportFailure {
    fileprivate static var overlookedCoding: TransportFailure {
        TransportFailure(
            .malformedResponse,
            "The response's Transfer-Encoding has a space before its colon, or goes on in another line.")
    }

    fileprivate static var overlookedChunks: TransportFailure {
        TransportFailure(
            .malformedResponse,
            "The response has a Content-Length of 0 beside its chunks, of which this libcurl would take none.")
    }

    fileprivate static func strangeCoding(_ name: String) -> TransportFailure {
        TransportFailure(
            .malformedResponse, "The response has a transfer coding that nobody asked for: \(FieldText.shown(name))")
    }
}
