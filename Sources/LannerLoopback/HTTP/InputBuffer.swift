/// The bytes of a connection that have arrived and are not read yet.
struct InputBuffer {
    private var bytes: [UInt8] = []
    /// How far the search for the header's end has come.
    private var searched = 0

    var count: Int { bytes.count }

    mutating func append(_ arrived: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: arrived)
    }

    /// Drops up to `count` bytes from the front; says how many.
    mutating func discard(_ count: Int) -> Int {
        let dropped = min(count, bytes.count)
        bytes.removeFirst(dropped)
        searched = 0
        return dropped
    }

    /// Takes the next request's head off; nil as long as its end has not arrived.
    ///
    /// Lines end with LF, with or without CR; empty lines before the first are skipped (RFC 9112, 2.2).
    mutating func nextHead() throws(BadRequest) -> RequestHead? {
        if searched == 0 {
            bytes.removeFirst(bytes.prefix { $0 == 0x0D || $0 == 0x0A }.count)
        }
        guard let end = endOfHead() else {
            if bytes.count > RequestHead.limit { throw BadRequest(status: 431) }
            return nil
        }
        guard end <= RequestHead.limit else { throw BadRequest(status: 431) }
        let lines = bytes[..<end].split(separator: 0x0A).map { line in
            Substring(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
        _ = discard(end)
        return try RequestHead(lines: lines.filter { !$0.isEmpty })
    }

    /// The position after the empty line that ends the head.
    private mutating func endOfHead() -> Int? {
        for index in searched..<bytes.count where bytes[index] == 0x0A && isEndOfEmptyLine(index) {
            return index + 1
        }
        searched = bytes.count
        return nil
    }

    private func isEndOfEmptyLine(_ index: Int) -> Bool {
        let before = index >= 1 && bytes[index - 1] == 0x0D ? index - 2 : index - 1
        return before >= 0 && bytes[before] == 0x0A
    }
}
