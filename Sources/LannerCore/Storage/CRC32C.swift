import CLannerSHA

/// The Castagnoli checksum (RFC 3720, appendix B.4), eight bytes at a time.
package enum CRC32C {
    private static let isAccelerated = lanner_has_crc32c() != 0

    /// The checksum of the bytes; 0 for none.
    package static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        guard isAccelerated else { return tabulated(bytes) }
        guard let start = bytes.baseAddress else { return 0 }
        return ~lanner_crc32c(0xFFFF_FFFF, start, bytes.count)
    }

    /// The same for processors without an instruction for it.
    package static func tabulated(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        guard let start = bytes.baseAddress else { return 0 }
        return tables.withUnsafeBufferPointer { tables in
            guard let tables = tables.baseAddress else { return 0 }
            return ~update(0xFFFF_FFFF, start, bytes.count, tables)
        }
    }

    private static func update(
        _ initial: UInt32, _ start: UnsafeRawPointer, _ count: Int, _ tables: UnsafePointer<UInt32>
    ) -> UInt32 {
        var crc = initial
        var position = 0
        while count &- position >= 8 {
            let word = UInt64(littleEndian: start.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            crc = fold(word ^ UInt64(crc), tables)
            position &+= 8
        }
        while position < count {
            let byte = start.load(fromByteOffset: position, as: UInt8.self)
            crc = tables[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ (crc >> 8)
            position &+= 1
        }
        return crc
    }

    /// Table k holds what a byte contributes when k more bytes follow it.
    @inline(__always)
    private static func fold(_ word: UInt64, _ tables: UnsafePointer<UInt32>) -> UInt32 {
        @inline(__always) func entry(_ table: Int, _ shift: UInt64) -> UInt32 {
            tables[table &* 256 &+ Int(truncatingIfNeeded: (word &>> shift) & 0xFF)]
        }
        return entry(7, 0) ^ entry(6, 8) ^ entry(5, 16) ^ entry(4, 24)
            ^ entry(3, 32) ^ entry(2, 40) ^ entry(1, 48) ^ entry(0, 56)
    }

    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            tables[byte] = (0..<8).reduce(UInt32(byte)) { crc, _ in
                (crc >> 1) ^ (crc & 1 == 1 ? 0x82F6_3B78 : 0)
            }
        }
        for index in 256..<tables.count {
            let previous = tables[index - 256]
            tables[index] = tables[Int(previous & 0xFF)] ^ (previous >> 8)
        }
        return tables
    }()
}
