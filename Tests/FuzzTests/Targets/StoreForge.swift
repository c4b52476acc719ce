import Foundation

@testable import LannerCore

/// Makes files of a store, good ones and such as no store would make.
struct StoreForge {
    private(set) var bytes: [UInt8]
    /// Where the frames begin.
    private(set) var starts: [Int] = []

    init(_ kind: StoreFileKind, base: UInt64) {
        var header = FrameBuffer()
        header.appendHeader(kind, base: base)
        bytes = header.bytes
    }

    mutating func append(_ changes: [StoreChange], sequence: UInt64, followsSync: Bool = false) {
        var frame = FrameBuffer()
        frame.appendFrame(changes, sequence: sequence, followsSync: followsSync)
        starts.append(bytes.count)
        bytes += frame.bytes
    }

    /// A frame whose checksums are right, whatever is in it.
    mutating func append(payload: [UInt8], sequence: UInt64) {
        starts.append(bytes.count)
        var frame = Self.little(StoreFormat.mark) + Self.little(UInt32(payload.count)) + Self.little(sequence)
        frame += Self.little(Self.checksum(payload))
        bytes += frame + Self.little(Self.checksum(frame)) + payload
    }

    static func checksum(_ bytes: some Collection<UInt8>) -> UInt32 {
        Array(bytes).withUnsafeBytes { CRC32C.checksum($0) }
    }

    private static func little(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}

/// Reads files of a store in the plainest way, to compare with.
struct PlainReader {
    struct Frame {
        var range: Range<Int>
        var sequence: UInt64
        var changes: [StoreChange]
    }

    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// What sequence numbers have to be above; nil when the header is not good.
    var base: UInt64? {
        let isGood =
            bytes.count >= 28 && number(8, 4) == 1 && UInt32(number(12, 4)) == StoreForge.checksum(bytes[..<12])
            && UInt32(number(24, 4)) == StoreForge.checksum(bytes[16..<24])
        return isGood ? number(16, 8) : nil
    }

    /// Every place where a good frame begins, in or out of step with others.
    var frames: [Frame] {
        bytes.indices.compactMap { frame(at: $0) }
    }

    /// A good frame that begins here.
    func frame(at start: Int) -> Frame? {
        guard start + 24 <= bytes.count, number(start, 4) == UInt64(StoreFormat.mark) else { return nil }
        let end = start + 24 + Int(number(start + 4, 4) & 0x7FFF_FFFF)
        guard end <= bytes.count, UInt32(number(start + 16, 4)) == StoreForge.checksum(bytes[start + 24..<end]),
            UInt32(number(start + 20, 4)) == StoreForge.checksum(bytes[start..<start + 20]),
            number(start + 8, 8) < 1 << 62, let changes = changes(start + 24..<end)
        else { return nil }
        return Frame(range: start..<end, sequence: number(start + 8, 8), changes: changes)
    }

    private func changes(_ payload: Range<Int>) -> [StoreChange]? {
        var changes: [StoreChange] = []
        var place = payload.lowerBound
        while place < payload.upperBound {
            guard place + 9 <= payload.upperBound else { return nil }
            let value = place + 9 + Int(number(place + 1, 4))
            let end = value + Int(number(place + 5, 4))
            guard end <= payload.upperBound, bytes[place] == 1 || bytes[place] == 2 else { return nil }
            let key = String(decoding: bytes[place + 9..<value], as: UTF8.self)
            changes.append(bytes[place] == 1 ? .put(key: key, value: Data(bytes[value..<end])) : .remove(key: key))
            place = end
        }
        return changes
    }

    private func number(_ start: Int, _ count: Int) -> UInt64 {
        bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
