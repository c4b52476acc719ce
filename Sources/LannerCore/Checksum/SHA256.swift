import CLannerSHA

extension Checksum {
    /// SHA-256 (FIPS 180-4): 32 bytes.
    public struct SHA256: Hasher {
        private var stream = BlockStream<SHA256Function>()

        /// A hasher that has taken no bytes.
        public init() {}

        /// Takes the next bytes.
        public mutating func update(_ bytes: UnsafeRawBufferPointer) {
            stream.update(bytes)
        }

        /// The digest of all bytes so far.
        public func digest() -> [UInt8] {
            stream.digest()
        }
    }
}

// Written for speed without optimization too, because applications are debugged with the library in them: straight
// lines of `let`, wrapping operators, transparent helpers (which are inlined in a debug build only within one file) and
// words read through typed pointers.
//
// The message schedule is computed for several blocks at once, word t of all of them side by side: a plain loop without
// near dependencies, which the optimizer turns into vector instructions.
struct SHA256Function: BlockFunction {
    fileprivate typealias State = (
        a: UInt32, b: UInt32, c: UInt32, d: UInt32, e: UInt32, f: UInt32, g: UInt32, h: UInt32
    )

    private var state: State = (
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
        0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19
    )

    static var isBigEndian: Bool { true }

    var words: [UInt32] {
        [state.a, state.b, state.c, state.d, state.e, state.f, state.g, state.h]
    }

    /// Whether the processor has instructions for it: far faster, in a debug build most of all.
    static let isAccelerated = lanner_sha_kernels() & Int32(LANNER_SHA_HAS_SHA256) != 0

    static var takesAnyAlignment: Bool { isAccelerated }

    mutating func compress(_ blocks: UnsafeRawPointer, count: Int) {
        guard Self.isAccelerated else { return compressPortably(blocks, count: count) }
        withUnsafeMutableBytes(of: &state) { bytes in
            guard let words = bytes.assumingMemoryBound(to: UInt32.self).baseAddress else { return }
            lanner_sha256_blocks(words, blocks, count)
        }
    }

    /// The same without these instructions; the blocks are aligned.
    mutating func compressPortably(_ blocks: UnsafeRawPointer, count: Int) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 2 &* scheduleSize) { buffer in
            guard let w = buffer.baseAddress else { return }
            buffer.initialize(repeating: 0)
            storeConstants(behind: w)
            blocks.withMemoryRebound(to: UInt32.self, capacity: 16 &* count) {
                state = compressed(state, $0, count: count, schedule: w)
            }
        }
    }

    /// Fills the second half of the buffer: behind each word of the schedules, the constant of its round. The state alone
    /// takes half of the registers of x86-64; so a round finds both from one pointer.
    private func storeConstants(behind w: UnsafeMutablePointer<UInt32>) {
        var i = scheduleSize
        for constant in Self.constants {
            for _ in 0..<lanes {
                w[i] = constant
                i = i &+ 1
            }
        }
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}

/// Blocks whose schedules are computed together.
@_transparent
private var lanes: Int { 8 }

/// Words of their schedules, and as many constants follow.
@_transparent
private var scheduleSize: Int { 64 &* lanes }

/// The state after all blocks.
private func compressed(
    _ state: SHA256Function.State, _ blocks: UnsafePointer<UInt32>, count: Int, schedule: UnsafeMutablePointer<UInt32>
) -> SHA256Function.State {
    var state = state
    var done = 0
    while done < count {
        let batch = min(lanes, count &- done)
        load(blocks + 16 &* done, count: batch, into: schedule)
        extend(schedule)
        for lane in 0..<batch {
            state = mixed(state, schedule + lane)
        }
        done = done &+ batch
    }
    return state
}

@_transparent
private func rotated(_ x: UInt32, _ count: UInt32) -> UInt32 {
    (x &>> count) | (x &<< (32 &- count))
}

@_transparent
private func fromBigEndian(_ word: UInt32) -> UInt32 {
    #if _endian(big)
    word
    #else
    word.byteSwapped
    #endif
}

/// Words 0 to 15 of each block's schedule: the block itself. Lanes without a block keep what they had.
@inline(__always)
private func load(_ blocks: UnsafePointer<UInt32>, count: Int, into w: UnsafeMutablePointer<UInt32>) {
    var lane = 0
    while lane < count {
        let block = blocks + 16 &* lane
        var t = 0
        while t < 16 {
            w[t &* lanes &+ lane] = fromBigEndian(block[t])
            t = t &+ 1
        }
        lane = lane &+ 1
    }
}

/// Words 16 to 63 of every lane's schedule.
private func extend(_ w: UnsafeMutablePointer<UInt32>) {
    var i = 16 &* lanes
    while i < 64 &* lanes {
        let x = w[i &- 15 &* lanes]
        let y = w[i &- 2 &* lanes]
        let sigma0 = rotated(x, 7) ^ rotated(x, 18) ^ (x &>> 3)
        let sigma1 = rotated(y, 17) ^ rotated(y, 19) ^ (y &>> 10)
        w[i] = w[i &- 16 &* lanes] &+ sigma0 &+ w[i &- 7 &* lanes] &+ sigma1
        i = i &+ 1
    }
}

/// The state after a block whose schedule is every `lanes`th word from `schedule`.
@inline(__always)
private func mixed(_ state: SHA256Function.State, _ schedule: UnsafePointer<UInt32>) -> SHA256Function.State {
    var s = state
    var w = schedule
    let end = w + scheduleSize
    while w < end {
        s = sixteenRounds(s, w)
        w += 16 &* lanes
    }
    return (
        state.a &+ s.a, state.b &+ s.b, state.c &+ s.c, state.d &+ s.d,
        state.e &+ s.e, state.f &+ s.f, state.g &+ s.g, state.h &+ s.h
    )
}

@_transparent
private func sixteenRounds(_ s0: SHA256Function.State, _ w: UnsafePointer<UInt32>) -> SHA256Function.State {
    let s1 = round(s0, w)
    let s2 = round(s1, w + 1 &* lanes)
    let s3 = round(s2, w + 2 &* lanes)
    let s4 = round(s3, w + 3 &* lanes)
    let s5 = round(s4, w + 4 &* lanes)
    let s6 = round(s5, w + 5 &* lanes)
    let s7 = round(s6, w + 6 &* lanes)
    let s8 = round(s7, w + 7 &* lanes)
    let s9 = round(s8, w + 8 &* lanes)
    let s10 = round(s9, w + 9 &* lanes)
    let s11 = round(s10, w + 10 &* lanes)
    let s12 = round(s11, w + 11 &* lanes)
    let s13 = round(s12, w + 12 &* lanes)
    let s14 = round(s13, w + 13 &* lanes)
    let s15 = round(s14, w + 14 &* lanes)
    return round(s15, w + 15 &* lanes)
}

/// One round, with the schedule's word at `w` and the constant behind it.
@_transparent
private func round(_ s: SHA256Function.State, _ w: UnsafePointer<UInt32>) -> SHA256Function.State {
    let choice = s.g ^ (s.e & (s.f ^ s.g))
    let sigma1 = rotated(s.e, 6) ^ rotated(s.e, 11) ^ rotated(s.e, 25)
    let first = s.h &+ w[0] &+ w[scheduleSize] &+ choice &+ sigma1
    // b ^ c is the a ^ b of the round before: the optimizer computes it once.
    let majority = s.b ^ ((s.a ^ s.b) & (s.b ^ s.c))
    let sigma0 = rotated(s.a, 2) ^ rotated(s.a, 13) ^ rotated(s.a, 22)
    return (first &+ sigma0 &+ majority, s.a, s.b, s.c, s.d &+ first, s.e, s.f, s.g)
}
