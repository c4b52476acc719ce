extension Checksum {
    /// SHA-512 (FIPS 180-4): 64 bytes.
    public struct SHA512: Hasher {
        private var stream = BlockStream<SHA512Function>()

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
struct SHA512Function: BlockFunction {
    fileprivate typealias State = (
        a: UInt64, b: UInt64, c: UInt64, d: UInt64, e: UInt64, f: UInt64, g: UInt64, h: UInt64
    )

    private var state: State = (
        0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1,
        0x510e_527f_ade6_82d1, 0x9b05_688c_2b3e_6c1f, 0x1f83_d9ab_fb41_bd6b, 0x5be0_cd19_137e_2179
    )

    static var isBigEndian: Bool { true }

    var words: [UInt64] {
        [state.a, state.b, state.c, state.d, state.e, state.f, state.g, state.h]
    }

    mutating func compress(_ blocks: UnsafeRawPointer, count: Int) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2 &* scheduleSize) { buffer in
            guard let w = buffer.baseAddress else { return }
            buffer.initialize(repeating: 0)
            storeConstants(behind: w)
            blocks.withMemoryRebound(to: UInt64.self, capacity: 16 &* count) {
                state = compressed(state, $0, count: count, schedule: w)
            }
        }
    }

    /// Fills the second half of the buffer: behind each word of the schedules, the constant of its round. The state alone
    /// takes half of the registers of x86-64; so a round finds both from one pointer.
    private func storeConstants(behind w: UnsafeMutablePointer<UInt64>) {
        var i = scheduleSize
        for constant in Self.constants {
            for _ in 0..<lanes {
                w[i] = constant
                i = i &+ 1
            }
        }
    }

    /// The first 64 bits of the fractional parts of the cube roots of the first 80 primes.
    private static let constants: [UInt64] = [
        0x428a_2f98_d728_ae22, 0x7137_4491_23ef_65cd, 0xb5c0_fbcf_ec4d_3b2f, 0xe9b5_dba5_8189_dbbc,
        0x3956_c25b_f348_b538, 0x59f1_11f1_b605_d019, 0x923f_82a4_af19_4f9b, 0xab1c_5ed5_da6d_8118,
        0xd807_aa98_a303_0242, 0x1283_5b01_4570_6fbe, 0x2431_85be_4ee4_b28c, 0x550c_7dc3_d5ff_b4e2,
        0x72be_5d74_f27b_896f, 0x80de_b1fe_3b16_96b1, 0x9bdc_06a7_25c7_1235, 0xc19b_f174_cf69_2694,
        0xe49b_69c1_9ef1_4ad2, 0xefbe_4786_384f_25e3, 0x0fc1_9dc6_8b8c_d5b5, 0x240c_a1cc_77ac_9c65,
        0x2de9_2c6f_592b_0275, 0x4a74_84aa_6ea6_e483, 0x5cb0_a9dc_bd41_fbd4, 0x76f9_88da_8311_53b5,
        0x983e_5152_ee66_dfab, 0xa831_c66d_2db4_3210, 0xb003_27c8_98fb_213f, 0xbf59_7fc7_beef_0ee4,
        0xc6e0_0bf3_3da8_8fc2, 0xd5a7_9147_930a_a725, 0x06ca_6351_e003_826f, 0x1429_2967_0a0e_6e70,
        0x27b7_0a85_46d2_2ffc, 0x2e1b_2138_5c26_c926, 0x4d2c_6dfc_5ac4_2aed, 0x5338_0d13_9d95_b3df,
        0x650a_7354_8baf_63de, 0x766a_0abb_3c77_b2a8, 0x81c2_c92e_47ed_aee6, 0x9272_2c85_1482_353b,
        0xa2bf_e8a1_4cf1_0364, 0xa81a_664b_bc42_3001, 0xc24b_8b70_d0f8_9791, 0xc76c_51a3_0654_be30,
        0xd192_e819_d6ef_5218, 0xd699_0624_5565_a910, 0xf40e_3585_5771_202a, 0x106a_a070_32bb_d1b8,
        0x19a4_c116_b8d2_d0c8, 0x1e37_6c08_5141_ab53, 0x2748_774c_df8e_eb99, 0x34b0_bcb5_e19b_48a8,
        0x391c_0cb3_c5c9_5a63, 0x4ed8_aa4a_e341_8acb, 0x5b9c_ca4f_7763_e373, 0x682e_6ff3_d6b2_b8a3,
        0x748f_82ee_5def_b2fc, 0x78a5_636f_4317_2f60, 0x84c8_7814_a1f0_ab72, 0x8cc7_0208_1a64_39ec,
        0x90be_fffa_2363_1e28, 0xa450_6ceb_de82_bde9, 0xbef9_a3f7_b2c6_7915, 0xc671_78f2_e372_532b,
        0xca27_3ece_ea26_619c, 0xd186_b8c7_21c0_c207, 0xeada_7dd6_cde0_eb1e, 0xf57d_4f7f_ee6e_d178,
        0x06f0_67aa_7217_6fba, 0x0a63_7dc5_a2c8_98a6, 0x113f_9804_bef9_0dae, 0x1b71_0b35_131c_471b,
        0x28db_77f5_2304_7d84, 0x32ca_ab7b_40c7_2493, 0x3c9e_be0a_15c9_bebc, 0x431d_67c4_9c10_0d4c,
        0x4cc5_d4be_cb3e_42b6, 0x597f_299c_fc65_7e2a, 0x5fcb_6fab_3ad6_faec, 0x6c44_198c_4a47_5817,
    ]
}

/// Blocks whose schedules are computed together.
@_transparent
private var lanes: Int { 4 }

/// Words of their schedules, and as many constants follow.
@_transparent
private var scheduleSize: Int { 80 &* lanes }

/// The state after all blocks.
private func compressed(
    _ state: SHA512Function.State, _ blocks: UnsafePointer<UInt64>, count: Int, schedule: UnsafeMutablePointer<UInt64>
) -> SHA512Function.State {
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
private func rotated(_ x: UInt64, _ count: UInt64) -> UInt64 {
    (x &>> count) | (x &<< (64 &- count))
}

@_transparent
private func fromBigEndian(_ word: UInt64) -> UInt64 {
    #if _endian(big)
    word
    #else
    word.byteSwapped
    #endif
}

/// Words 0 to 15 of each block's schedule: the block itself. Lanes without a block keep what they had.
@inline(__always)
private func load(_ blocks: UnsafePointer<UInt64>, count: Int, into w: UnsafeMutablePointer<UInt64>) {
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

/// Words 16 to 79 of every lane's schedule.
private func extend(_ w: UnsafeMutablePointer<UInt64>) {
    var i = 16 &* lanes
    while i < 80 &* lanes {
        let x = w[i &- 15 &* lanes]
        let y = w[i &- 2 &* lanes]
        let sigma0 = rotated(x, 1) ^ rotated(x, 8) ^ (x &>> 7)
        let sigma1 = rotated(y, 19) ^ rotated(y, 61) ^ (y &>> 6)
        w[i] = w[i &- 16 &* lanes] &+ sigma0 &+ w[i &- 7 &* lanes] &+ sigma1
        i = i &+ 1
    }
}

/// The state after a block whose schedule is every `lanes`th word from `schedule`.
@inline(__always)
private func mixed(_ state: SHA512Function.State, _ schedule: UnsafePointer<UInt64>) -> SHA512Function.State {
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
private func sixteenRounds(_ s0: SHA512Function.State, _ w: UnsafePointer<UInt64>) -> SHA512Function.State {
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
private func round(_ s: SHA512Function.State, _ w: UnsafePointer<UInt64>) -> SHA512Function.State {
    let choice = s.g ^ (s.e & (s.f ^ s.g))
    let sigma1 = rotated(s.e, 14) ^ rotated(s.e, 18) ^ rotated(s.e, 41)
    let first = s.h &+ w[0] &+ w[scheduleSize] &+ choice &+ sigma1
    // b ^ c is the a ^ b of the round before: the optimizer computes it once.
    let majority = s.b ^ ((s.a ^ s.b) & (s.b ^ s.c))
    let sigma0 = rotated(s.a, 28) ^ rotated(s.a, 34) ^ rotated(s.a, 39)
    return (first &+ sigma0 &+ majority, s.a, s.b, s.c, s.d &+ first, s.e, s.f, s.g)
}
