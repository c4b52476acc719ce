/// Pseudo-random bytes that are computed where they are asked for, so that a file of any size costs no memory.
///
/// The eight bytes at position `8 * n` are the n-th output of SplitMix64 from the seed, low byte first. Every
/// stretch differs from every other, so that a byte in the wrong place shows.
struct GeneratedBytes: Sendable, Hashable {
    var seed: UInt64

    /// Fills the buffer with the bytes from a position on.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, from position: Int64) {
        var index = UInt64(max(0, position)) / 8
        var place = 0
        let skipped = Int(max(0, position) % 8)
        if skipped > 0 {
            place = copy(word(index), dropping: skipped, to: buffer)
            index += 1
        }
        while place + 8 <= buffer.count {
            buffer.storeBytes(of: word(index).littleEndian, toByteOffset: place, as: UInt64.self)
            place += 8
            index += 1
        }
        if place < buffer.count {
            _ = copy(word(index), dropping: 0, to: UnsafeMutableRawBufferPointer(rebasing: buffer[place...]))
        }
    }

    @inline(__always)
    private func word(_ index: UInt64) -> UInt64 {
        var mixed = seed &+ (index &+ 1) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    private func copy(_ word: UInt64, dropping skipped: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(8 - skipped, buffer.count)
        for offset in 0..<count {
            buffer[offset] = UInt8(truncatingIfNeeded: word >> UInt64(8 * (skipped + offset)))
        }
        return count
    }
}
