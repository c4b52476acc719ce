import LannerCore
import Testing

@Suite("Hashers")
struct HasherTests {
    @Test("Published vectors", arguments: HashVector.all)
    func vector(_ vector: HashVector) {
        var hasher = vector.algorithm.makeHasher()
        hasher.update(vector.message.utf8)
        #expect(hasher.digest().hexadecimal == vector.digest)
    }

    @Test("Many lengths agree with another implementation", arguments: Checksum.Algorithm.allCases)
    func lengths(_ algorithm: Checksum.Algorithm) throws {
        let known = try HashPattern.digests(algorithm)
        #expect(known.prefix(301).map(\.length) == Array(0...300))
        #expect(known.contains { $0.length > 12_000 })
        for (length, digest) in known {
            var hasher = algorithm.makeHasher()
            hasher.update(HashPattern.bytes.prefix(length))
            #expect(hasher.digest().hexadecimal == digest, "\(length) bytes")
        }
    }

    @Test("Every cut into two pieces gives the same digest", arguments: Checksum.Algorithm.allCases)
    func twoPieces(_ algorithm: Checksum.Algorithm) {
        let message = HashPattern.bytes.prefix(400)
        let whole = digest(algorithm, [message])
        for cut in 0...message.count {
            #expect(digest(algorithm, [message.prefix(cut), message.dropFirst(cut)]) == whole, "cut at \(cut)")
        }
    }

    @Test("Every cut into three pieces gives the same digest", arguments: Checksum.Algorithm.allCases)
    func threePieces(_ algorithm: Checksum.Algorithm) {
        let message = HashPattern.bytes.prefix(2 * 128 + 3)
        let whole = digest(algorithm, [message])
        for first in 0...message.count {
            for second in stride(from: first, through: message.count, by: first % 7 + 1) {
                let pieces = [message[..<first], message[first..<second], message[second...]]
                #expect(digest(algorithm, pieces) == whole, "cut at \(first) and \(second)")
            }
        }
    }

    @Test("Bytes one by one give the same digest", arguments: Checksum.Algorithm.allCases)
    func singleBytes(_ algorithm: Checksum.Algorithm) {
        let message = HashPattern.bytes.prefix(3000)
        #expect(digest(algorithm, message.map { [$0] }) == digest(algorithm, [message]))
    }

    @Test("The digest does not depend on where the bytes lie", arguments: Checksum.Algorithm.allCases)
    func unaligned(_ algorithm: Checksum.Algorithm) {
        let message = HashPattern.bytes.prefix(70 * 128 + 5)
        let whole = digest(algorithm, [message])
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: message.count + 16, alignment: 16)
        defer { room.deallocate() }
        for offset in 0..<16 {
            let place = UnsafeMutableRawBufferPointer(rebasing: room[offset..<offset + message.count])
            place.copyBytes(from: message)
            var hasher = algorithm.makeHasher()
            hasher.update(UnsafeRawBufferPointer(place))
            #expect(hasher.digest() == whole, "offset \(offset)")
        }
    }

    @Test("A digest on the way changes nothing, and twice the same", arguments: Checksum.Algorithm.allCases)
    func digestOnTheWay(_ algorithm: Checksum.Algorithm) {
        for length in 0..<260 {
            var hasher = algorithm.makeHasher()
            hasher.update(HashPattern.bytes.prefix(length))
            let first = hasher.digest()
            #expect(hasher.digest() == first)
            #expect(first == digest(algorithm, [HashPattern.bytes.prefix(length)]))
            hasher.update(HashPattern.bytes[length..<300])
            #expect(hasher.digest() == digest(algorithm, [HashPattern.bytes.prefix(300)]), "\(length) bytes")
        }
    }

    @Test("Copies are independent", arguments: Checksum.Algorithm.allCases)
    func copies(_ algorithm: Checksum.Algorithm) {
        var original = algorithm.makeHasher()
        original.update(HashPattern.bytes.prefix(100))
        var copy = original
        copy.update(HashPattern.bytes[100..<200])
        #expect(original.digest() == digest(algorithm, [HashPattern.bytes.prefix(100)]))
        original.update(HashPattern.bytes[300..<400])
        #expect(copy.digest() == digest(algorithm, [HashPattern.bytes.prefix(200)]))
    }

    @Test("Empty buffers change nothing", arguments: Checksum.Algorithm.allCases)
    func empty(_ algorithm: Checksum.Algorithm) {
        var hasher = algorithm.makeHasher()
        hasher.update(UnsafeRawBufferPointer(start: nil, count: 0))
        hasher.update(HashPattern.bytes.prefix(7))
        hasher.update(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(hasher.digest() == digest(algorithm, [HashPattern.bytes.prefix(7)]))
    }

    @Test("A digest has the algorithm's length", arguments: Checksum.Algorithm.allCases)
    func digestLength(_ algorithm: Checksum.Algorithm) {
        #expect(algorithm.makeHasher().digest().count == algorithm.digestLength)
    }

    private func digest(_ algorithm: Checksum.Algorithm, _ pieces: [some Collection<UInt8>]) -> [UInt8] {
        var hasher = algorithm.makeHasher()
        for piece in pieces {
            hasher.update(piece)
        }
        return hasher.digest()
    }
}
