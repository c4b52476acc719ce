import LannerCore
import LannerMachine
import Testing

@Suite struct CRC32CTests {
    private func checksum(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBytes { CRC32C.checksum($0) }
    }

    /// RFC 3720, appendix B.4.
    @Test func published() {
        #expect(checksum(Array("123456789".utf8)) == 0xE306_9283)
        #expect(checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(checksum([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(checksum(Array(0..<32)) == 0x46DD_794E)
        #expect(checksum([]) == 0)
    }

    /// The polynomial bit by bit, at every length up to a few words and every alignment.
    @Test func everyLengthAndAlignment() {
        var random = SeededGenerator(seed: 1)
        let bytes = (0..<80).map { _ in UInt8.random(in: 0...255, using: &random) }
        for start in 0..<8 {
            for end in start..<bytes.count {
                let part = bytes[start..<end]
                let sum = bytes.withUnsafeBytes { CRC32C.checksum(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
                #expect(sum == slow(part))
            }
        }
    }

    /// With tables as with the processor's instruction, where it has one.
    @Test func theTablesSayTheSame() {
        var random = SeededGenerator(seed: 2)
        let bytes = (0..<300).map { _ in UInt8.random(in: 0...255, using: &random) }
        bytes.withUnsafeBytes { bytes in
            for end in 0...bytes.count {
                let part = UnsafeRawBufferPointer(rebasing: bytes[(end / 3)..<end])
                #expect(CRC32C.tabulated(part) == CRC32C.checksum(part))
            }
        }
        #expect(CRC32C.tabulated(UnsafeRawBufferPointer(start: nil, count: 0)) == 0)
    }

    private func slow(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = (crc >> 1) ^ (crc & 1 == 1 ? 0x82F6_3B78 : 0) }
        }
        return ~crc
    }
}
