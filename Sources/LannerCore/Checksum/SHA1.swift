import CLannerSHA

extension Checksum {
    /// SHA-1 (FIPS 180-4): 20 bytes. Finds damage; does not stand up to intent.
    public struct SHA1: Hasher {
        private var stream = BlockStream<SHA1Function>()

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
// The message schedule is computed for four blocks at once, word t of all of them side by side, and while the blocks
// before them go through their rounds: the rounds are one long chain of dependent operations, and the schedule, which
// the optimizer turns into vector instructions, fills the gaps.
struct SHA1Function: BlockFunction {
    fileprivate typealias State = (a: UInt32, b: UInt32, c: UInt32, d: UInt32, e: UInt32)

    private var state: State = (0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0)

    static var isBigEndian: Bool { true }

    var words: [UInt32] { [state.a, state.b, state.c, state.d, state.e] }

    /// Whether the processor has instructions for it: far faster, in a debug build most of all.
    static let isAccelerated = lanner_sha_kernels() & Int32(LANNER_SHA_HAS_SHA1) != 0

    static var takesAnyAlignment: Bool { isAccelerated }

    mutating func compress(_ blocks: UnsafeRawPointer, count: Int) {
        guard Self.isAccelerated else { return compressPortably(blocks, count: count) }
        withUnsafeMutableBytes(of: &state) { bytes in
            guard let words = bytes.assumingMemoryBound(to: UInt32.self).baseAddress else { return }
            lanner_sha1_blocks(words, blocks, count)
        }
    }

    /// The same without these instructions; the blocks are aligned.
    mutating func compressPortably(_ blocks: UnsafeRawPointer, count: Int) {
        Self.constants.withUnsafeBufferPointer { constants in
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 2 &* scheduleSize) { buffer in
                guard let k = constants.baseAddress, let w = buffer.baseAddress else { return }
                buffer.initialize(repeating: 0)
                blocks.withMemoryRebound(to: UInt32.self, capacity: 16 &* count) {
                    state = compressed(state, $0, count: count, schedules: w, constants: k)
                }
            }
        }
    }

    /// The constants of FIPS 180-4, 4.2.1, once for every four rounds.
    private static let constants: [UInt32] = [
        0x5a82_7999, 0x5a82_7999, 0x5a82_7999, 0x5a82_7999, 0x5a82_7999,
        0x6ed9_eba1, 0x6ed9_eba1, 0x6ed9_eba1, 0x6ed9_eba1, 0x6ed9_eba1,
        0x8f1b_bcdc, 0x8f1b_bcdc, 0x8f1b_bcdc, 0x8f1b_bcdc, 0x8f1b_bcdc,
        0xca62_c1d6, 0xca62_c1d6, 0xca62_c1d6, 0xca62_c1d6, 0xca62_c1d6,
    ]
}

/// Blocks whose schedules are computed together.
@_transparent
private var lanes: Int { 4 }
/// From a word of a schedule to the same word with the round's constant added, which is what the rounds take.
@_transparent
private var keyed: Int { 80 &* lanes }
/// Words of the schedules of one batch.
@_transparent
private var scheduleSize: Int { 2 &* keyed }

/// The state after all blocks. There is room for two batches: one in its rounds, the next being scheduled.
private func compressed(
    _ state: SHA1Function.State, _ blocks: UnsafePointer<UInt32>, count: Int,
    schedules: UnsafeMutablePointer<UInt32>, constants: UnsafePointer<UInt32>
) -> SHA1Function.State {
    var current = schedules
    var next = schedules + scheduleSize
    var state = state
    load(blocks, count: min(lanes, count), into: current, constants[0])
    extendAll(current, constants)
    var done = 0
    while done < count {
        let batch = min(lanes, count &- done)
        let following = blocks + 16 &* (done &+ batch)
        load(following, count: min(lanes, count &- done &- batch), into: next, constants[0])
        for lane in 0..<batch {
            state = mixed(state, current + lane, scheduling: lane, of: next, constants)
        }
        swap(&current, &next)
        done = done &+ batch
    }
    return state
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
private func load(
    _ blocks: UnsafePointer<UInt32>, count: Int, into schedule: UnsafeMutablePointer<UInt32>, _ constant: UInt32
) {
    var lane = 0
    while lane < count {
        let block = blocks + 16 &* lane
        let w = schedule + lane
        var t = 0
        while t < 16 {
            w[t &* lanes] = fromBigEndian(block[t])
            t = t &+ 1
        }
        lane = lane &+ 1
    }
    var i = 0
    while i < 16 &* lanes {
        schedule[i &+ keyed] = schedule[i] &+ constant
        i = i &+ 1
    }
}

/// Words 16 to 79 of every lane's schedule.
private func extendAll(_ schedule: UnsafeMutablePointer<UInt32>, _ constants: UnsafePointer<UInt32>) {
    var t = 16
    while t < 80 {
        extend(schedule + t &* lanes, constants[t / 4])
        t = t &+ 4
    }
}

/// Four more words of every lane's schedule; the next to be computed is at `w`.
@_transparent
private func extend(_ w: UnsafeMutablePointer<UInt32>, _ constant: UInt32) {
    var i = 0
    while i < 4 &* lanes {
        let x = w + i
        let sum = x[-3 &* lanes] ^ x[-8 &* lanes] ^ x[-14 &* lanes] ^ x[-16 &* lanes]
        let word = (sum &<< 1) | (sum &>> 31)
        x[0] = word
        x[keyed] = word &+ constant
        i = i &+ 1
    }
}

/// The state after a block whose schedule is every `lanes`th word from `w`. On the way, a quarter of the schedules of
/// the next batch is computed: the `lane`th.
@inline(__always)
private func mixed(
    _ state: SHA1Function.State, _ w: UnsafePointer<UInt32>,
    scheduling lane: Int, of next: UnsafeMutablePointer<UInt32>, _ constants: UnsafePointer<UInt32>
) -> SHA1Function.State {
    let key = w + keyed
    let t = 16 &+ 16 &* lane
    let target = next + t &* lanes
    let k = constants + t / 4
    let s20 = choosingRounds(state, key)
    extend(target, k[0])
    let s40 = parityRounds(s20, key + 20 &* lanes)
    extend(target + 4 &* lanes, k[1])
    let s60 = majorityRounds(s40, key + 40 &* lanes)
    extend(target + 8 &* lanes, k[2])
    let s80 = parityRounds(s60, key + 60 &* lanes)
    extend(target + 12 &* lanes, k[3])
    return (state.a &+ s80.a, state.b &+ s80.b, state.c &+ s80.c, state.d &+ s80.d, state.e &+ s80.e)
}

@_transparent
private func choosingRounds(_ s0: SHA1Function.State, _ w: UnsafePointer<UInt32>) -> SHA1Function.State {
    let s1 = choose(s0, w[0])
    let s2 = choose(s1, w[1 &* lanes])
    let s3 = choose(s2, w[2 &* lanes])
    let s4 = choose(s3, w[3 &* lanes])
    let s5 = choose(s4, w[4 &* lanes])
    let s6 = choose(s5, w[5 &* lanes])
    let s7 = choose(s6, w[6 &* lanes])
    let s8 = choose(s7, w[7 &* lanes])
    let s9 = choose(s8, w[8 &* lanes])
    let s10 = choose(s9, w[9 &* lanes])
    let s11 = choose(s10, w[10 &* lanes])
    let s12 = choose(s11, w[11 &* lanes])
    let s13 = choose(s12, w[12 &* lanes])
    let s14 = choose(s13, w[13 &* lanes])
    let s15 = choose(s14, w[14 &* lanes])
    let s16 = choose(s15, w[15 &* lanes])
    let s17 = choose(s16, w[16 &* lanes])
    let s18 = choose(s17, w[17 &* lanes])
    let s19 = choose(s18, w[18 &* lanes])
    return choose(s19, w[19 &* lanes])
}

@_transparent
private func parityRounds(_ s0: SHA1Function.State, _ w: UnsafePointer<UInt32>) -> SHA1Function.State {
    let s1 = parity(s0, w[0])
    let s2 = parity(s1, w[1 &* lanes])
    let s3 = parity(s2, w[2 &* lanes])
    let s4 = parity(s3, w[3 &* lanes])
    let s5 = parity(s4, w[4 &* lanes])
    let s6 = parity(s5, w[5 &* lanes])
    let s7 = parity(s6, w[6 &* lanes])
    let s8 = parity(s7, w[7 &* lanes])
    let s9 = parity(s8, w[8 &* lanes])
    let s10 = parity(s9, w[9 &* lanes])
    let s11 = parity(s10, w[10 &* lanes])
    let s12 = parity(s11, w[11 &* lanes])
    let s13 = parity(s12, w[12 &* lanes])
    let s14 = parity(s13, w[13 &* lanes])
    let s15 = parity(s14, w[14 &* lanes])
    let s16 = parity(s15, w[15 &* lanes])
    let s17 = parity(s16, w[16 &* lanes])
    let s18 = parity(s17, w[17 &* lanes])
    let s19 = parity(s18, w[18 &* lanes])
    return parity(s19, w[19 &* lanes])
}

@_transparent
private func majorityRounds(_ s0: SHA1Function.State, _ w: UnsafePointer<UInt32>) -> SHA1Function.State {
    let s1 = majority(s0, w[0])
    let s2 = majority(s1, w[1 &* lanes])
    let s3 = majority(s2, w[2 &* lanes])
    let s4 = majority(s3, w[3 &* lanes])
    let s5 = majority(s4, w[4 &* lanes])
    let s6 = majority(s5, w[5 &* lanes])
    let s7 = majority(s6, w[6 &* lanes])
    let s8 = majority(s7, w[7 &* lanes])
    let s9 = majority(s8, w[8 &* lanes])
    let s10 = majority(s9, w[9 &* lanes])
    let s11 = majority(s10, w[10 &* lanes])
    let s12 = majority(s11, w[11 &* lanes])
    let s13 = majority(s12, w[12 &* lanes])
    let s14 = majority(s13, w[13 &* lanes])
    let s15 = majority(s14, w[14 &* lanes])
    let s16 = majority(s15, w[15 &* lanes])
    let s17 = majority(s16, w[16 &* lanes])
    let s18 = majority(s17, w[17 &* lanes])
    let s19 = majority(s18, w[18 &* lanes])
    return majority(s19, w[19 &* lanes])
}

@_transparent
private func choose(_ s: SHA1Function.State, _ key: UInt32) -> SHA1Function.State {
    round(s, s.e &+ key &+ (s.d ^ (s.b & (s.c ^ s.d))))
}

@_transparent
private func parity(_ s: SHA1Function.State, _ key: UInt32) -> SHA1Function.State {
    round(s, s.e &+ key &+ (s.b ^ s.c ^ s.d))
}

@_transparent
private func majority(_ s: SHA1Function.State, _ key: UInt32) -> SHA1Function.State {
    round(s, s.e &+ key &+ ((s.b & s.c) | (s.d & (s.b | s.c))))
}

/// What all rounds share.
@_transparent
private func round(_ s: SHA1Function.State, _ sum: UInt32) -> SHA1Function.State {
    (sum &+ ((s.a &<< 5) | (s.a &>> 27)), s.a, (s.b &<< 30) | (s.b &>> 2), s.c, s.d)
}
