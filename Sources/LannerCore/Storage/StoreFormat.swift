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
    /// More than any value needs, and little enough for 32-bit arithmetic.
    static let largestPayload = 1 << 30
    static let largestFrame = frameHeaderSize + largestPayload
    /// A file of this size or more is no store's: it is not read.
    static let fileBound: Int64 = 1 << 34
    /// In the length of a payload: all before the frame is on the device.
    static let followsSync: UInt32 = 1 << 31
    /// Numbers in files stay below, so that counting on from them cannot overflow.
    static let largestNumber: UInt64 = 1 << 62
    /// The highest number, of a frame or a generation, that is gone on with from: no store lives long enough to get from here
    /// to the largest.
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
    private var writer = ByteWriter()

    var count: Int { writer.count }

    var bytes: [UInt8] { withBytes { Array($0) } }

    /// Calls with the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result { writer.withBytes(body) }

    mutating func removeAll() { writer.removeAll() }

    mutating func appendHeader(_ kind: StoreFileKind, base: UInt64) {
        writer.append(StoreFormat.headerSize) { header in
            let start = header.place
            header.put(kind.magic)
            header.put(StoreFormat.version)
            header.put(header.checksum(from: start))
            let baseStart = header.place
            header.put(base)
            header.put(header.checksum(from: baseStart))
        }
    }

    /// Appends a frame; its size must have been found to fit.
    mutating func appendFrame(_ changes: some Collection<StoreChange>, sequence: UInt64, followsSync: Bool = false) {
        guard let size = StoreFormat.frameSize(changes) else { return }
        writer.append(size) { frame in
            var header = frame
            frame.skip(StoreFormat.frameHeaderSize)
            let payload = frame.place
            for change in changes { frame.put(change) }
            let length = UInt32(truncatingIfNeeded: size - StoreFormat.frameHeaderSize)
            let start = header.place
            header.put(StoreFormat.mark)
            header.put(followsSync ? length | StoreFormat.followsSync : length)
            header.put(sequence)
            header.put(frame.checksum(from: payload))
            header.put(header.checksum(from: start))
        }
    }
}

extension ByteCursor {
    fileprivate mutating func put(_ change: StoreChange) {
        switch change {
        case .put(let key, let value):
            put(StoreFormat.put, key, valueSize: value.count)
            value.withUnsafeBytes { put($0) }
        case .remove(let key):
            put(StoreFormat.remove, key, valueSize: 0)
        }
    }

    private mutating func put(_ kind: UInt8, _ key: String, valueSize: Int) {
        put(kind)
        put(UInt32(truncatingIfNeeded: key.utf8.count))
        put(UInt32(truncatingIfNeeded: valueSize))
        put(key)
    }

    /// Of what was written since.
    fileprivate func checksum(from start: UnsafeMutableRawPointer) -> UInt32 {
        CRC32C.checksum(UnsafeRawBufferPointer(start: start, count: place - start))
    }
}
