import Foundation

/// Writes a record: fields of a tag, a length and bytes, in any order, so that a later version can add some and an
/// earlier one can pass over them. Numbers are little-endian, texts UTF-8.
struct RecordWriter {
    private var writer: ByteWriter

    init(capacity: Int = 512) {
        writer = ByteWriter(capacity: capacity)
    }

    /// What was written.
    var bytes: Data { writer.withBytes { Data($0) } }

    mutating func put(_ tag: UInt8, _ text: String?) {
        guard let text else { return }
        field(tag, text.utf8.count) { $0.put(text) }
    }

    mutating func put(_ tag: UInt8, _ number: Int64?) {
        guard let number else { return }
        field(tag, 8) { $0.put(number) }
    }

    /// A field that is there, or is not.
    mutating func put(_ tag: UInt8, if isSet: Bool) {
        if isSet { put(tag, 1) }
    }

    mutating func put(_ tag: UInt8, _ data: Data?) {
        guard let data else { return }
        field(tag, data.count) { field in data.withUnsafeBytes { field.put($0) } }
    }

    /// The bounds of ranges, one after the other.
    mutating func put(_ tag: UInt8, _ ranges: [Range<Int64>]) {
        guard !ranges.isEmpty else { return }
        field(tag, ranges.count * 16) { field in
            for range in ranges {
                field.put(range.lowerBound)
                field.put(range.upperBound)
            }
        }
    }

    private mutating func field(_ tag: UInt8, _ count: Int, _ write: (inout ByteCursor) -> Void) {
        writer.append(5 + count) { field in
            field.put(tag)
            field.put(UInt32(clamping: count))
            write(&field)
        }
    }
}

/// Reads what ``RecordWriter`` wrote. Whatever makes no sense is not there: it reads bytes from a disk.
struct RecordReader {
    private let data: Data
    /// For each tag where its bytes are; a repeated tag adds a place.
    private var places: [(tag: UInt8, range: Range<Int>)] = []

    /// Nil when the bytes are not a sequence of fields.
    init?(_ data: Data) {
        self.data = data
        places.reserveCapacity(24)
        let isWhole = data.withUnsafeBytes { bytes -> Bool in
            var position = 0
            while position < bytes.count {
                guard bytes.count - position >= 5 else { return false }
                let size = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position + 1, as: UInt32.self))
                let start = position + 5
                guard let count = Int(exactly: size), bytes.count - start >= count else { return false }
                places.append((bytes[position], start..<start + count))
                position = start + count
            }
            return true
        }
        guard isWhole else { return nil }
    }

    func text(_ tag: UInt8) -> String? {
        range(tag).map(text)
    }

    func texts(_ tag: UInt8) -> [String] {
        places.filter { $0.tag == tag }.map { text($0.range) }
    }

    private func text(_ range: Range<Int>) -> String {
        data.withUnsafeBytes { String(decoding: UnsafeRawBufferPointer(rebasing: $0[range]), as: UTF8.self) }
    }

    func number(_ tag: UInt8) -> Int64? {
        guard let range = range(tag), range.count >= 8, range.count % 8 == 0 else { return nil }
        return number(at: range.lowerBound)
    }

    func flag(_ tag: UInt8) -> Bool { number(tag) == 1 }

    func numbers(_ tag: UInt8) -> [Int64] {
        guard let range = range(tag), range.count % 8 == 0 else { return [] }
        return stride(from: range.lowerBound, to: range.upperBound, by: 8).map(number(at:))
    }

    private func number(at position: Int) -> Int64 {
        data.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: Int64.self)) }
    }

    func data(_ tag: UInt8) -> Data? {
        range(tag).map { range in data.withUnsafeBytes { Data($0[range]) } }
    }

    private func range(_ tag: UInt8) -> Range<Int>? {
        places.first { $0.tag == tag }?.range
    }
}
