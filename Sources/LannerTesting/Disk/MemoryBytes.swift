/// The bytes of a file in memory: blocks that are as long as what was written into them, so that small files are
/// small and holes cost nothing.
struct MemoryBytes {
    static let blockSize: Int64 = 64 << 10

    /// The size a reader sees.
    private(set) var size: Int64 = 0
    /// How much of the disk it takes: what is stored or reserved, whichever is more.
    var footprint: Int64 { max(stored, reserved) }

    private var blocks: [Int64: [UInt8]] = [:]
    private var stored: Int64 = 0
    private var reserved: Int64 = 0

    /// Sets space aside.
    mutating func reserve(_ size: Int64) {
        reserved = max(reserved, size)
    }

    /// How much more of the disk a reservation would take.
    func cost(ofReserving size: Int64) -> Int64 {
        max(0, size - footprint)
    }

    /// How much more of the disk a write within one block would take.
    func cost(ofWriting count: Int, at offset: Int64) -> Int64 {
        let end = offset % Self.blockSize + Int64(count)
        let growth = max(0, end - Int64(blocks[offset / Self.blockSize]?.count ?? 0))
        return max(0, stored + growth - footprint)
    }

    /// Writes within one block.
    mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        let start = Int(offset % Self.blockSize)
        let end = start + bytes.count
        let before = blocks[offset / Self.blockSize]?.count ?? 0
        blocks[offset / Self.blockSize, default: []].replace(start..<end, with: bytes)
        stored += Int64(max(0, end - before))
        size = max(size, offset + Int64(bytes.count))
    }

    /// Reads within one block; bytes that were never written are 0.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) {
        let start = Int(offset % Self.blockSize)
        let block = blocks[offset / Self.blockSize] ?? []
        let known = block.count > start ? block[start..<min(block.count, start + buffer.count)] : []
        buffer.copyBytes(from: known)
        for index in known.count..<buffer.count { buffer[index] = 0 }
    }

    /// Cuts or extends; what is set aside beyond the new end is given back.
    mutating func truncate(to newSize: Int64) {
        if newSize < size { drop(from: newSize) }
        size = newSize
        reserved = min(reserved, newSize)
    }

    private mutating func drop(from end: Int64) {
        for (number, block) in blocks {
            let kept = max(0, min(Int64(block.count), end - number * Self.blockSize))
            stored -= Int64(block.count) - kept
            blocks[number] = kept > 0 ? Array(block.prefix(Int(kept))) : nil
        }
    }
}

extension MemoryBytes {
    /// Takes over a range of other bytes, as far as they have it.
    mutating func copy(_ range: Range<Int64>, of other: MemoryBytes) {
        let range = range.clamped(to: 0..<max(0, other.size))
        var part = [UInt8](repeating: 0, count: range.count)
        part.withUnsafeMutableBytes { bytes in
            for piece in Self.pieces(of: bytes.count, at: range.lowerBound) {
                let part = UnsafeMutableRawBufferPointer(rebasing: bytes[piece.start..<(piece.start + piece.count)])
                other.read(into: part, at: range.lowerBound + Int64(piece.start))
                write(UnsafeRawBufferPointer(part), at: range.lowerBound + Int64(piece.start))
            }
        }
    }

    /// The parts of a range that lie in one block each.
    static func pieces(of count: Int, at offset: Int64) -> [(start: Int, count: Int)] {
        var pieces: [(start: Int, count: Int)] = []
        var start = 0
        while start < count {
            let room = blockSize - (offset + Int64(start)) % blockSize
            let length = min(count - start, Int(room))
            pieces.append((start, length))
            start += length
        }
        return pieces
    }

    /// Writes an array from 0 on.
    mutating func write(_ contents: [UInt8]) {
        contents.withUnsafeBytes { bytes in
            for piece in Self.pieces(of: bytes.count, at: 0) {
                let part = bytes[piece.start..<(piece.start + piece.count)]
                write(UnsafeRawBufferPointer(rebasing: part), at: Int64(piece.start))
            }
        }
    }

    /// All bytes, holes as zeros.
    var contents: [UInt8] {
        // All threads share one empty array, and the initializer would write to it.
        guard size > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            for piece in Self.pieces(of: Int(size), at: 0) {
                let part = bytes[piece.start..<(piece.start + piece.count)]
                read(into: UnsafeMutableRawBufferPointer(rebasing: part), at: Int64(piece.start))
            }
            count = Int(size)
        }
    }
}

extension [UInt8] {
    /// Puts bytes in a place that may lie beyond the end; the gap becomes zeros.
    fileprivate mutating func replace(_ range: Range<Int>, with bytes: UnsafeRawBufferPointer) {
        if count < range.lowerBound { append(contentsOf: repeatElement(0, count: range.lowerBound - count)) }
        let overlap = Swift.min(count, range.upperBound) - range.lowerBound
        withUnsafeMutableBytes { own in
            let target = UnsafeMutableRawBufferPointer(rebasing: own[range.lowerBound..<(range.lowerBound + overlap)])
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<overlap]))
        }
        append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[overlap...]))
    }
}
