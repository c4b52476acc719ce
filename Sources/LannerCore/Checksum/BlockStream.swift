/// What one algorithm adds to the common shape of MD5 and the SHA family: a state, and how blocks are mixed into it.
///
/// A block is sixteen words in all of them.
protocol BlockFunction: Sendable {
    /// The word the algorithm computes with: `UInt32` or `UInt64`.
    associatedtype Word: FixedWidthInteger

    /// The state before the first block.
    init()
    /// Mixes `count` whole blocks into the state, in order. They are aligned for a word, or anywhere where
    /// `takesAnyAlignment` says so.
    mutating func compress(_ blocks: UnsafeRawPointer, count: Int)
    /// Whether blocks need not be aligned.
    static var takesAnyAlignment: Bool { get }
    /// The state as the words of the digest.
    var words: [Word] { get }
    /// Whether the message's length and the digest are written most significant byte first.
    static var isBigEndian: Bool { get }
}

extension BlockFunction {
    static var takesAnyAlignment: Bool { false }
}

/// Cuts a message into blocks and pads its end (RFC 1321, 3.1–3.2; FIPS 180-4, 5.1).
///
/// Whole blocks are read where they are; only what is left over, or not aligned, is copied. Nothing is allocated for a
/// block. All storage is inline, so a copy is independent.
struct BlockStream<Function: BlockFunction>: Sendable {
    /// Room for the largest block, aligned for the largest word.
    private typealias Storage = (
        UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
        UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64
    )

    private static var wordSize: Int { MemoryLayout<Function.Word>.size }
    private static var blockSize: Int { 16 * wordSize }

    private var function = Function()
    /// The bytes of the unfinished block, `filled` of them.
    private var storage: Storage = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    private var filled = 0
    /// Bytes so far.
    private var length: UInt64 = 0

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        length &+= UInt64(bytes.count)
        var rest = bytes
        if filled > 0 {
            store(&rest)
        }
        compressBlocks(&rest)
        while !rest.isEmpty {
            store(&rest)
        }
    }

    func digest() -> [UInt8] {
        var padded = self
        padded.pad()
        let words = padded.function.words
        return [UInt8](unsafeUninitializedCapacity: words.count * Self.wordSize) { bytes, count in
            let room = UnsafeMutableRawBufferPointer(bytes)
            for (place, word) in words.enumerated() {
                room.storeBytes(of: Self.ordered(word), toByteOffset: place * Self.wordSize, as: Function.Word.self)
            }
            count = room.count
        }
    }

    /// Compresses the whole blocks at the front.
    private mutating func compressBlocks(_ rest: inout UnsafeRawBufferPointer) {
        let count = rest.count / Self.blockSize
        guard filled == 0, count > 0, let start = rest.baseAddress else { return }
        if Function.takesAnyAlignment || Int(bitPattern: start) % MemoryLayout<Function.Word>.alignment == 0 {
            function.compress(start, count: count)
        } else {
            compressCopies(of: UnsafeRawBufferPointer(rebasing: rest.prefix(count * Self.blockSize)))
        }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count * Self.blockSize))
    }

    /// Compresses whole blocks whose words are not aligned: several at a time, since each call costs as much as a block.
    private mutating func compressCopies(of blocks: UnsafeRawBufferPointer) {
        let size = min(32 * Self.blockSize, blocks.count)
        withUnsafeTemporaryAllocation(of: Function.Word.self, capacity: size / Self.wordSize) { copy in
            guard let start = copy.baseAddress else { return }
            for position in stride(from: 0, to: blocks.count, by: size) {
                let part = UnsafeRawBufferPointer(rebasing: blocks.dropFirst(position).prefix(size))
                UnsafeMutableRawBufferPointer(copy).copyMemory(from: part)
                function.compress(UnsafeRawPointer(start), count: part.count / Self.blockSize)
            }
        }
    }

    /// Takes bytes from the front until the unfinished block is full, which is then compressed, or none are left.
    private mutating func store(_ rest: inout UnsafeRawBufferPointer) {
        let taken = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.blockSize - filled))
        withUnsafeMutableBytes(of: &storage) { [filled] block in
            UnsafeMutableRawBufferPointer(rebasing: block[filled...]).copyMemory(from: taken)
        }
        filled += taken.count
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(taken.count))
        if filled == Self.blockSize {
            compressStorage()
        }
    }

    private mutating func compressStorage() {
        filled = 0
        withUnsafeBytes(of: storage) { block in
            guard let start = block.baseAddress else { return }
            function.compress(start, count: 1)
        }
    }

    /// A one bit, zeros up to a length field of two words at the end of a block, and the length in bits.
    private mutating func pad() {
        let used = filled + 1 + 2 * Self.wordSize
        let zeros = (Self.blockSize - used % Self.blockSize) % Self.blockSize
        let (low, high) = (length << 3, length >> 61)
        withUnsafeTemporaryAllocation(byteCount: used - filled + zeros, alignment: 1) { padding in
            padding.initializeMemory(as: UInt8.self, repeating: 0)
            padding[0] = 0x80
            // Both words are cut from 128 bits, so that no length overflows; a shorter field has the low ones.
            let field = padding.count - 2 * Self.wordSize
            let end = Function.isBigEndian ? padding.count - 8 : field
            padding.storeBytes(of: Self.ordered(low), toByteOffset: end, as: UInt64.self)
            if Self.wordSize == 8 {
                let other = Function.isBigEndian ? field : field + 8
                padding.storeBytes(of: Self.ordered(high), toByteOffset: other, as: UInt64.self)
            }
            update(UnsafeRawBufferPointer(padding))
        }
    }

    private static func ordered<Integer: FixedWidthInteger>(_ word: Integer) -> Integer {
        Function.isBigEndian ? word.bigEndian : word.littleEndian
    }
}
