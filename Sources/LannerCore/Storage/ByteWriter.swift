/// Bytes that are written one behind the other, into room that there is already.
struct ByteWriter {
    /// What was written, and zeros behind it.
    private var room: [UInt8]
    private(set) var count = 0

    init(capacity: Int = 0) {
        room = [UInt8](repeating: 0, count: capacity)
    }

    /// Forgets what was written, and keeps the room.
    mutating func removeAll() { count = 0 }

    /// Calls with what was written.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        room.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    }

    /// Adds bytes: as many as it says, all of which `write` has to write.
    @inline(__always)
    mutating func append(_ length: Int, _ write: (inout ByteCursor) -> Void) {
        let start = count
        count += length
        if count > room.count { grow(behind: start) }
        room.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            var cursor = ByteCursor(place: base + start)
            write(&cursor)
            assert(cursor.place == base + start + length, "Other bytes were written than were announced.")
        }
    }

    /// Makes room for what is counted already, of which so much was written.
    private mutating func grow(behind written: Int) {
        var larger = [UInt8](repeating: 0, count: max(count, 2 * room.count))
        larger.replaceSubrange(..<written, with: room[..<written])
        room = larger
    }
}

/// Where the next byte is written. Numbers are little-endian, texts UTF-8.
struct ByteCursor {
    fileprivate(set) var place: UnsafeMutableRawPointer

    @inline(__always)
    mutating func put<Number: FixedWidthInteger>(_ number: Number) {
        place.storeBytes(of: number.littleEndian, as: Number.self)
        place += MemoryLayout<Number>.size
    }

    /// Leaves bytes out that are written by another cursor.
    mutating func skip(_ count: Int) { place += count }

    mutating func put(_ text: String) {
        var text = text
        text.withUTF8 { put(UnsafeRawBufferPointer($0)) }
    }

    mutating func put(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        place.copyMemory(from: start, byteCount: bytes.count)
        place += bytes.count
    }
}
