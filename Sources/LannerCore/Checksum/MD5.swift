extension Checksum {
    /// MD5 (RFC 1321): 16 bytes. Finds damage; does not stand up to intent.
    public struct MD5: Hasher {
        private var stream = BlockStream<MD5Function>()

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
struct MD5Function: BlockFunction {
    private var state = MD5State(a: 0x6745_2301, b: 0xefcd_ab89, c: 0x98ba_dcfe, d: 0x1032_5476)

    static var isBigEndian: Bool { false }

    var words: [UInt32] { [state.a, state.b, state.c, state.d] }

    mutating func compress(_ blocks: UnsafeRawPointer, count: Int) {
        Self.constants.withUnsafeBufferPointer { constants in
            guard let k = constants.baseAddress else { return }
            blocks.withMemoryRebound(to: UInt32.self, capacity: 16 &* count) { start in
                var block = start
                for _ in 0..<count {
                    state = state + mixed(block, k)
                    block += 16
                }
            }
        }
    }

    @_transparent
    private func mixed(_ block: UnsafePointer<UInt32>, _ k: UnsafePointer<UInt32>) -> MD5State {
        state.round1(block, k).round2(block, k + 16).round3(block, k + 32).round4(block, k + 48)
    }

    /// The integer part of 2³² · |sin(i + 1)|. Loaded, not spelled in the rounds: as literals they end up in the chain of
    /// operations that each round waits for.
    private static let constants: [UInt32] = [
        0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
        0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
        0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
        0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
        0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
        0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
        0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
        0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
    ]
}

@_transparent
private func fromLittleEndian(_ word: UInt32) -> UInt32 {
    #if _endian(big)
    word.byteSwapped
    #else
    word
    #endif
}

/// The four words between two steps. A step computes one word and renames the others.
private struct MD5State {
    let a, b, c, d: UInt32

    @_transparent
    init(a: UInt32, b: UInt32, c: UInt32, d: UInt32) {
        self.a = a
        self.b = b
        self.c = c
        self.d = d
    }

    @_transparent
    static func + (left: Self, right: Self) -> Self {
        Self(a: left.a &+ right.a, b: left.b &+ right.b, c: left.c &+ right.c, d: left.d &+ right.d)
    }

    /// What all steps share: `mixed` is the step's function of b, c and d.
    @_transparent
    func step(_ mixed: UInt32, _ sum: UInt32, _ shift: UInt32) -> Self {
        let turned = sum &+ mixed
        return Self(a: d, b: b &+ ((turned &<< shift) | (turned &>> (32 &- shift))), c: b, d: c)
    }

    @_transparent
    func f(_ x: UInt32, _ k: UInt32, _ shift: UInt32) -> Self {
        step(d ^ (b & (c ^ d)), a &+ fromLittleEndian(x) &+ k, shift)
    }

    /// The two terms have no bit in common, so they may be added one after the other: the first does not wait for b.
    @_transparent
    func g(_ x: UInt32, _ k: UInt32, _ shift: UInt32) -> Self {
        step(b & d, a &+ fromLittleEndian(x) &+ k &+ (c & ~d), shift)
    }

    @_transparent
    func h(_ x: UInt32, _ k: UInt32, _ shift: UInt32) -> Self {
        step(b ^ (c ^ d), a &+ fromLittleEndian(x) &+ k, shift)
    }

    @_transparent
    func i(_ x: UInt32, _ k: UInt32, _ shift: UInt32) -> Self {
        step(c ^ (b | ~d), a &+ fromLittleEndian(x) &+ k, shift)
    }

    @_transparent
    func round1(_ x: UnsafePointer<UInt32>, _ k: UnsafePointer<UInt32>) -> Self {
        self
            .f(x[0], k[0], 7)
            .f(x[1], k[1], 12)
            .f(x[2], k[2], 17)
            .f(x[3], k[3], 22)
            .f(x[4], k[4], 7)
            .f(x[5], k[5], 12)
            .f(x[6], k[6], 17)
            .f(x[7], k[7], 22)
            .f(x[8], k[8], 7)
            .f(x[9], k[9], 12)
            .f(x[10], k[10], 17)
            .f(x[11], k[11], 22)
            .f(x[12], k[12], 7)
            .f(x[13], k[13], 12)
            .f(x[14], k[14], 17)
            .f(x[15], k[15], 22)
    }

    @_transparent
    func round2(_ x: UnsafePointer<UInt32>, _ k: UnsafePointer<UInt32>) -> Self {
        self
            .g(x[1], k[0], 5)
            .g(x[6], k[1], 9)
            .g(x[11], k[2], 14)
            .g(x[0], k[3], 20)
            .g(x[5], k[4], 5)
            .g(x[10], k[5], 9)
            .g(x[15], k[6], 14)
            .g(x[4], k[7], 20)
            .g(x[9], k[8], 5)
            .g(x[14], k[9], 9)
            .g(x[3], k[10], 14)
            .g(x[8], k[11], 20)
            .g(x[13], k[12], 5)
            .g(x[2], k[13], 9)
            .g(x[7], k[14], 14)
            .g(x[12], k[15], 20)
    }

    @_transparent
    func round3(_ x: UnsafePointer<UInt32>, _ k: UnsafePointer<UInt32>) -> Self {
        self
            .h(x[5], k[0], 4)
            .h(x[8], k[1], 11)
            .h(x[11], k[2], 16)
            .h(x[14], k[3], 23)
            .h(x[1], k[4], 4)
            .h(x[4], k[5], 11)
            .h(x[7], k[6], 16)
            .h(x[10], k[7], 23)
            .h(x[13], k[8], 4)
            .h(x[0], k[9], 11)
            .h(x[3], k[10], 16)
            .h(x[6], k[11], 23)
            .h(x[9], k[12], 4)
            .h(x[12], k[13], 11)
            .h(x[15], k[14], 16)
            .h(x[2], k[15], 23)
    }

    @_transparent
    func round4(_ x: UnsafePointer<UInt32>, _ k: UnsafePointer<UInt32>) -> Self {
        self
            .i(x[0], k[0], 6)
            .i(x[7], k[1], 10)
            .i(x[14], k[2], 15)
            .i(x[5], k[3], 21)
            .i(x[12], k[4], 6)
            .i(x[3], k[5], 10)
            .i(x[10], k[6], 15)
            .i(x[1], k[7], 21)
            .i(x[8], k[8], 6)
            .i(x[15], k[9], 10)
            .i(x[6], k[10], 15)
            .i(x[13], k[11], 21)
            .i(x[4], k[12], 6)
            .i(x[11], k[13], 10)
            .i(x[2], k[14], 15)
            .i(x[9], k[15], 21)
    }
}
