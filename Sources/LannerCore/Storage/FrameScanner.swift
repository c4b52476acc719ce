import Foundation

/// Reads a file of the store's format, and finds its way past damage.
struct FrameScanner {
    /// How a file ends.
    enum Ending {
        /// With a whole frame.
        case whole
        /// With a frame that stops short, as the death of the process or the machine leaves it.
        case torn
    }

    /// The header of one frame.
    private struct Frame {
        var length: Int
        /// Whether the device had all that is before it.
        var followsSync: Bool
        var sequence: UInt64
        var checksum: UInt32
    }

    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    /// Whether frames may be missing since the last that tells that the device had all before it.
    private var hasGap = false
    /// Behind the last good frame for which they are not; nil when it was not looked for yet.
    private var certainEnd: Int?

    /// What the sequence numbers start from.
    private(set) var base: UInt64 = 0
    /// The highest sequence number so far, that of frames that do not count included, or the base.
    private(set) var sequence: UInt64 = 0
    /// What is neither a good frame nor a torn end, ascending.
    private(set) var damaged: [Range<Int>] = []
    /// Behind the last good frame.
    private(set) var end = 0
    private(set) var ending = Ending.whole
    /// Whether the last good frame has no changes.
    private(set) var hasEndMark = false

    /// Reads the header.
    ///
    /// - Throws: ``UnknownVersion`` when the file is of another version.
    init(_ bytes: UnsafeRawBufferPointer, _ kind: StoreFileKind) throws(UnknownVersion) {
        self.bytes = bytes
        // A snapshot gets its name when the device has all of it.
        if kind == .snapshot { certainEnd = bytes.count }
        let isPreambleGood = try readPreamble(kind)
        if bytes.count < StoreFormat.headerSize || isZero(from: 0) {
            position = bytes.count
            ending = .torn
            return
        }
        position = StoreFormat.headerSize
        end = position
        if isPreambleGood, let base = readBase() {
            self.base = base
            sequence = base
        } else {
            damaged = [0..<StoreFormat.headerSize]
        }
    }

    /// A file of a version that is not ours to read.
    struct UnknownVersion: Error {
        var version: UInt32
    }

    private func readPreamble(_ kind: StoreFileKind) throws(UnknownVersion) -> Bool {
        guard bytes.count >= StoreFormat.preambleSize, number(at: 0, as: UInt64.self) == kind.magic,
            number(at: 12, as: UInt32.self) == checksum(0..<12)
        else { return false }
        let version = number(at: 8, as: UInt32.self)
        if version != StoreFormat.version { throw UnknownVersion(version: version) }
        return true
    }

    private func readBase() -> UInt64? {
        let base = number(at: 16, as: UInt64.self)
        guard checksum(16..<24) == number(at: 24, as: UInt32.self), base < StoreFormat.largestNumber else { return nil }
        return base
    }

    /// The changes of the next good frame that counts; nil at the end of the file.
    mutating func next() -> [StoreChange]? {
        while position < bytes.count, ending == .whole {
            guard let frame = frame(at: position) else {
                resynchronize()
                continue
            }
            let start = position + StoreFormat.frameHeaderSize
            guard frame.length <= bytes.count - start else {
                ending = .torn
                return nil
            }
            position = start + frame.length
            if let changes = changes(of: frame, start..<position) { return changes }
        }
        return nil
    }

    /// The changes of a frame that is there in full; nil when it is damaged, came back from before a cut, or may have
    /// lost what was before it.
    private mutating func changes(of frame: Frame, _ payload: Range<Int>) -> [StoreChange]? {
        let range = payload.lowerBound - StoreFormat.frameHeaderSize..<payload.upperBound
        guard checksum(payload) == frame.checksum,
            let changes = ChangeReader.changes(in: UnsafeRawBufferPointer(rebasing: bytes[payload]))
        else {
            markDamaged(range)
            return nil
        }
        guard frame.sequence > sequence else { return nil }
        sequence = frame.sequence
        if frame.followsSync { hasGap = false }
        guard !hasGap || range.upperBound <= findCertainEnd() else {
            markDamaged(range)
            return nil
        }
        end = range.upperBound
        hasEndMark = changes.isEmpty
        return changes
    }

    /// Looks through the rest of the file, once.
    private mutating func findCertainEnd() -> Int {
        if let certainEnd { return certainEnd }
        var ahead = self
        ahead.certainEnd = bytes.count
        var last = 0
        while ahead.next() != nil {
            if !ahead.hasGap { last = ahead.end }
        }
        certainEnd = last
        return last
    }

    /// Steps over what is not a frame.
    private mutating func resynchronize() {
        let start = position
        if bytes.count - start < StoreFormat.frameHeaderSize || isZero(from: start) {
            ending = .torn
            return
        }
        position = nextFrame(after: start)
        markDamaged(start..<position)
    }

    /// Where a newer frame begins; the end of the file when there is none. One that does not fit into the file is none
    /// here: in damaged bytes it is more likely a part of a value than a torn end.
    private func nextFrame(after start: Int) -> Int {
        let first = UInt8(truncatingIfNeeded: StoreFormat.mark)
        var candidate = start + 1
        while let found = bytes[candidate...].firstIndex(of: first) {
            if let frame = frame(at: found), frame.sequence > sequence,
                frame.length <= bytes.count - found - StoreFormat.frameHeaderSize
            {
                return found
            }
            candidate = found + 1
        }
        return bytes.count
    }

    private func frame(at start: Int) -> Frame? {
        guard bytes.count - start >= StoreFormat.frameHeaderSize,
            number(at: start, as: UInt32.self) == StoreFormat.mark,
            case let field = number(at: start + 4, as: UInt32.self),
            number(at: start + 20, as: UInt32.self) == checksum(start..<start + 20),
            let length = Int(exactly: field & ~StoreFormat.followsSync), length <= StoreFormat.largestPayload
        else { return nil }
        let sequence = number(at: start + 8, as: UInt64.self)
        guard sequence < StoreFormat.largestNumber else { return nil }
        return Frame(
            length: length, followsSync: field & StoreFormat.followsSync != 0, sequence: sequence,
            checksum: number(at: start + 16, as: UInt32.self))
    }

    /// Counts what is behind the last frame as damaged; an empty range when there is nothing.
    mutating func markEndDamaged() {
        markDamaged(max(end, damaged.last?.upperBound ?? 0)..<bytes.count)
    }

    private mutating func markDamaged(_ range: Range<Int>) {
        hasGap = true
        if let last = damaged.last, last.upperBound == range.lowerBound {
            damaged[damaged.count - 1] = last.lowerBound..<range.upperBound
        } else {
            damaged.append(range)
        }
    }

    private func number<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
        Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
    }

    private func checksum(_ range: Range<Int>) -> UInt32 {
        CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[range]))
    }

    private func isZero(from start: Int) -> Bool {
        bytes[start...].allSatisfy { $0 == 0 }
    }
}

/// Reads the changes of one payload.
private struct ChangeReader {
    private let payload: UnsafeRawBufferPointer
    private var position = 0

    /// The changes; nil when the payload is not what a writer of this version makes.
    static func changes(in payload: UnsafeRawBufferPointer) -> [StoreChange]? {
        var reader = ChangeReader(payload: payload)
        var changes: [StoreChange] = []
        while reader.position < payload.count {
            guard let change = reader.next() else { return nil }
            changes.append(change)
        }
        return changes
    }

    private init(payload: UnsafeRawBufferPointer) {
        self.payload = payload
    }

    private mutating func next() -> StoreChange? {
        guard let kind = take(1)?.first, let keySize = takeSize(), let valueSize = takeSize(),
            let key = take(keySize), let value = take(valueSize)
        else { return nil }
        let name = String(decoding: key, as: UTF8.self)
        switch kind {
        case StoreFormat.put: return .put(key: name, value: Self.data(value))
        case StoreFormat.remove: return .remove(key: name)
        default: return nil
        }
    }

    private mutating func takeSize() -> Int? {
        guard let bytes = take(4) else { return nil }
        return Int(exactly: UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
    }

    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count <= payload.count - position else { return nil }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: payload[position..<position + count])
    }

    private static func data(_ bytes: UnsafeRawBufferPointer) -> Data {
        bytes.baseAddress.map { Data(bytes: $0, count: bytes.count) } ?? Data()
    }
}
