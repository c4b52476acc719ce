import Dispatch
import LannerCore

/// What every `Checksum.Hasher` has to do, as tests that an author runs over their own.
///
/// ```swift
/// @Test func keepsTheContract() {
///     let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
///     let violations = HasherContract.check(vectors: ["abc": abc]) { OtherSHA256() }
///     #expect(violations == [])
/// }
/// ```
public enum HasherContract {
    /// What the contract asks for.
    public enum Clause: String, ContractClause {
        /// The digests that were given are computed.
        case vectors = "known digests"
        /// Bytes cut anywhere have one digest.
        case cuts = "any cut"
        /// Bytes that come one by one have the same digest.
        case oneByOne = "byte by byte"
        /// It does not matter where in memory bytes lie.
        case alignment = "wherever the bytes lie"
        /// An empty buffer changes nothing.
        case empty = "empty buffers"
        /// After a digest more bytes may follow.
        case onTheWay = "a digest on the way"
        /// Another byte anywhere is another digest.
        case everyByte = "every byte counts"
        /// All digests have one length.
        case length = "one length"
        /// Hashers share nothing.
        case apart = "each by itself"
    }

    /// Checks a kind of hasher.
    ///
    /// - Parameters:
    ///   - vectors: Texts, hashed as UTF-8, and their digests in lowercase hexadecimal digits. Without them nobody knows
    ///     whether the digests are those of the algorithm.
    ///   - waived: Clauses that are left out, each with the reason why it cannot be kept.
    ///   - make: Makes a new hasher.
    /// - Returns: The clauses that are not kept; none when all is well.
    public static func check(
        vectors: [String: String], waiving waived: [Clause: String] = [:], make: @escaping () -> any Checksum.Hasher
    ) -> [ContractViolation<Clause>] {
        let trial = HasherTrial(findings: ContractFindings(waiving: waived), vectors: vectors, make: make)
        for clause in trial.findings.clauses { clause.run(trial) }
        return trial.findings.all
    }
}

extension HasherContract.Clause {
    /// What the documentation of `Checksum.Hasher` says.
    public var text: String {
        switch self {
        case .vectors, .length: "The digest of all bytes so far, most significant byte first."
        case .cuts, .oneByOne, .alignment, .everyByte:
            "The digest depends on the bytes alone, not on how they were cut into calls."
        case .empty: "Takes the next bytes; an empty buffer changes nothing."
        case .onTheWay: "The hasher is unchanged: more bytes may follow."
        case .apart: "Each hasher is used by one thread at a time, and others meanwhile: they share nothing."
        }
    }

    func run(_ trial: HasherTrial) {
        switch self {
        case .vectors: trial.known()
        case .cuts: trial.cuts()
        case .oneByOne: trial.oneByOne()
        case .alignment: trial.alignment()
        case .empty: trial.empty()
        case .onTheWay: trial.onTheWay()
        case .everyByte: trial.everyByte()
        case .length: trial.length()
        case .apart: trial.apart()
        }
    }
}

/// The clauses tried on new hashers.
struct HasherTrial {
    let findings: ContractFindings<HasherContract.Clause>
    let vectors: [String: String]
    let make: () -> any Checksum.Hasher

    /// Longer than a few blocks of any algorithm.
    private static let message = bytes(600, seed: 1)

    private static func bytes(_ count: Int, seed: UInt64) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    private func digest(_ pieces: ArraySlice<UInt8>...) -> [UInt8] {
        var hasher = make()
        for piece in pieces { hasher.take(piece) }
        return hasher.digest()
    }

    func known() {
        for (text, digest) in vectors.sorted(by: { $0.key < $1.key }) {
            let given = self.digest(Array(text.utf8)[...]).map(Self.hexadecimal).joined()
            let what = "The digest of \(text.prefix(40).debugDescription)"
            findings.expect(given == digest, .vectors, "\(what) was \(given), not \(digest).")
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    func cuts() {
        let message = Self.message
        let whole = digest(message[...])
        var random = SeededGenerator(seed: 2)
        for first in 0...message.count {
            let second = Int.random(in: first...message.count, using: &random)
            let given = digest(message[..<first], message[first..<second], message[second...])
            findings.expect(given == whole, .cuts, "\(message.count) bytes cut at \(first) and \(second) differ.")
        }
        large()
    }

    /// The pieces of large files are of a mebibyte and less.
    private func large() {
        let message = Self.bytes((1 << 20) + 4096, seed: 3)
        var hasher = make()
        for start in stride(from: 0, to: message.count, by: 256) { hasher.take(message[start..<start + 256]) }
        let isSame = hasher.digest() == digest(message[...])
        findings.expect(isSame, .cuts, "\(message.count) bytes at once give another digest than 256 by 256.")
    }

    func oneByOne() {
        var hasher = make()
        for byte in Self.message { hasher.take([byte]) }
        findings.expect(hasher.digest() == digest(Self.message[...]), .oneByOne, "Single bytes give another digest.")
    }

    func alignment() {
        let message = Self.message
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: message.count + 16, alignment: 16)
        defer { room.deallocate() }
        for offset in 0..<16 {
            let place = UnsafeMutableRawBufferPointer(rebasing: room[offset..<offset + message.count])
            place.copyBytes(from: message)
            var hasher = make()
            hasher.update(UnsafeRawBufferPointer(place))
            let isSame = hasher.digest() == digest(message[...])
            findings.expect(isSame, .alignment, "Bytes at an address of the form 16n + \(offset) give another digest.")
        }
    }

    func empty() {
        var hasher = make()
        hasher.update(UnsafeRawBufferPointer(start: nil, count: 0))
        hasher.take(Self.message[..<7])
        hasher.update(UnsafeRawBufferPointer(start: nil, count: 0))
        hasher.take([])
        findings.expect(hasher.digest() == digest(Self.message[..<7]), .empty, "Empty buffers change the digest.")
    }

    func onTheWay() {
        let message = Self.message
        for length in 0..<300 {
            var hasher = make()
            hasher.take(message[..<length])
            let first = hasher.digest()
            findings.expect(hasher.digest() == first, .onTheWay, "The second digest of \(length) bytes differs.")
            hasher.take(message[length..<300])
            let isSame = hasher.digest() == digest(message[..<300])
            findings.expect(isSame, .onTheWay, "A digest after \(length) bytes changes a later one.")
        }
    }

    func everyByte() {
        let message = Array(Self.message[..<300])
        var seen: [[UInt8]: String] = [digest(message[...]): "the whole"]
        for index in message.indices {
            var changed = message
            changed[index] ^= 1
            note(changed, "byte \(index) changed", &seen)
        }
        for length in 0..<300 { note(Array(message[..<length]), "the first \(length) bytes", &seen) }
        note(message + [0], "a zero added", &seen)
    }

    private func note(_ message: [UInt8], _ what: String, _ seen: inout [[UInt8]: String]) {
        let digest = digest(message[...])
        findings.expect(
            seen[digest] == nil, .everyByte, "300 bytes with \(what) have the digest of \(seen[digest] ?? "").")
        seen[digest] = what
    }

    /// In turns first, where what is shared always shows, and then on several threads.
    func apart() {
        let message = Self.message
        let (whole, half) = (digest(message[...]), digest(message[..<300]))
        var (first, second) = (make(), make())
        first.take(message[..<100])
        second.take(message[..<300])
        first.take(message[100...])
        let areSame = first.digest() == whole && second.digest() == half
        findings.expect(areSame, .apart, "Two hashers that are used in turn have other digests than each alone.")
        let hashers = Locked((0..<8).map { _ in make() })
        DispatchQueue.concurrentPerform(iterations: 8) { index in
            var hasher = hashers.withLock { $0[index] }
            hasher.take(message, times: 200)
            hashers.withLock { $0[index] = hasher }
        }
        var alone = make()
        alone.take(message, times: 200)
        let wrong = hashers.withLock { $0 }.filter { $0.digest() != alone.digest() }.count
        findings.expect(wrong == 0, .apart, "Of 8 hashers on threads of their own \(wrong) have another digest.")
    }

    func length() {
        let expected = digest([]).count
        findings.expect(expected > 0, .length, "The digest of no bytes is empty.")
        for length in 0..<300 {
            let count = digest(Self.message[..<length]).count
            findings.expect(count == expected, .length, "The digest of \(length) bytes has \(count), not \(expected).")
        }
    }
}

extension Checksum.Hasher {
    fileprivate mutating func take(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { update($0) }
    }

    fileprivate mutating func take(_ bytes: [UInt8], times count: Int) {
        for _ in 0..<count { take(bytes[...]) }
    }
}
