import Foundation

/// The bytes of the files of a ``FileStore``: a header, then frames. Numbers are little-endian.
///
///     header   kind 8 | version 4 | CRC of these 4 | base 8 | CRC of the base 4
///     frame    mark 4 | length of the payload 4 | sequence 8 | CRC of the payload 4 | CRC of these 4 | payload
///     payload  changes, one behind the other
///     change   put 1 or remove 2, 1 | length of the key 4 | length of the value 4 | key | value
///
/// The highest bit of the length says that all before the frame was on the device when it was written: a gap before
/// such a frame is damage. Behind a gap without one, the death of the machine may have taken earlier commits, and what
/// stands there does not count.
///
/// One frame is one commit, or one record of a snapshot; the last frame of a snapshot has no changes. In a file the
/// sequence only grows, beyond the base, and a journal's numbers are never used twice: bytes that were cut off and
/// came back with a crash are known by their old numbers. The frame's header has its own checksum so that a damaged
/// payload can be stepped over, and a cut file be told from a damaged one.
///
/// The first 16 bytes stay as they are in every version.
enum StoreFormat {
    static let version: UInt32 = 1
    static let preambleSize = 16
    static let headerSize = 28
    static let frameHeaderSize = 24
    static let changeHeaderSize = 9
    /// No UTF-8 text contains it.
    static let mark: UInt32 = 0xF5_4C_AE_FF
    /// More than any commit needs, and little enough for 32-bit arithmetic.
    static let largestPayload = 1 << 30
    /// In the length of a payload: all before the frame is on the device.
    static let followsSync: UInt32 = 1 << 31
    /// Numbers in files stay below, so that counting on from them cannot overflow.
    static let largestNumber: UInt64 = 1 << 62
    /// The highest number that a journal is gone on with from: no store lives long enough to get from here to the largest.
    static let largestStart: UInt64 = 1 << 61

    static let put: UInt8 = 1
    static let remove: UInt8 = 2

    /// The bytes a frame with the changes takes; nil when it would be too large.
    static func frameSize(_ changes: some Collection<StoreChange>) -> Int? {
        var size = 0
        for change in changes {
            let (sum, overflow) = size.addingReportingOverflow(self.size(of: change))
            guard !overflow, sum <= largestPayload else { return nil }
            size = sum
        }
        return frameHeaderSize + size
    }

    private static func size(of change: StoreChange) -> Int {
        switch change {
        case .put(let key, let value): changeHeaderSize + key.utf8.count + value.count
        case .remove(let key): changeHeaderSize + key.utf8.count
        }
    }
}

/// The two kinds of files.
enum StoreFileKind: String, Sendable {
    case snapshot
    case journal

    /// The first eight bytes of a file, as a little-endian number: 0x89, "Lanner", and S or J.
    var magic: UInt64 {
        switch self {
        case .snapshot: 0x5372_656E_6E61_4C89
        case .journal: 0x4A72_656E_6E61_4C89
        }
    }
}

/// Bytes in the store's format that wait to be written.
struct FrameBuffer {
    private(set) var bytes: [UInt8] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func appendHeader(_ kind: StoreFileKind, base: UInt64) {
        let start = bytes.count
        append(kind.magic)
        append(StoreFormat.version)
        append(checksum(from: start))
        append(base)
        append(checksum(from: start + StoreFormat.preambleSize))
    }

    /// Appends a frame; its size must have been found to fit.
    mutating func appendFrame(_ changes: some Collection<StoreChange>, sequence: UInt64, followsSync: Bool = false) {
        let start = bytes.count
        append(StoreFormat.mark)
        bytes.append(contentsOf: repeatElement(0, count: StoreFormat.frameHeaderSize - 4))
        let payload = bytes.count
        for change in changes { append(change) }
        let length = UInt32(truncatingIfNeeded: bytes.count - payload)
        set(followsSync ? length | StoreFormat.followsSync : length, at: start + 4)
        set(sequence, at: start + 8)
        set(checksum(from: payload), at: start + 16)
        set(checksum(from: start, to: start + 20), at: start + 20)
    }

    private mutating func append(_ change: StoreChange) {
        switch change {
        case .put(let key, let value):
            append(StoreFormat.put, key, valueSize: value.count)
            value.withUnsafeBytes { bytes.append(contentsOf: $0) }
        case .remove(let key):
            append(StoreFormat.remove, key, valueSize: 0)
        }
    }

    private mutating func append(_ kind: UInt8, _ key: String, valueSize: Int) {
        bytes.append(kind)
        append(UInt32(truncatingIfNeeded: key.utf8.count))
        append(UInt32(truncatingIfNeeded: valueSize))
        bytes.append(contentsOf: key.utf8)
    }

    private mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func set<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self)
        }
    }

    private func checksum(from start: Int, to end: Int? = nil) -> UInt32 {
        bytes.withUnsafeBytes { CRC32C.checksum(UnsafeRawBufferPointer(rebasing: $0[start..<(end ?? bytes.count)])) }
    }
}
