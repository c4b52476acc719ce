import Foundation
import LannerMachine
import Testing

@testable import LannerCore

@Suite struct PiecesTests {
    private func digests(_ count: Int, _ algorithm: Checksum.Algorithm = .md5) throws -> [Checksum.Digest] {
        try (0..<count).map { number in
            try Checksum.Digest(
                algorithm: algorithm, bytes: (0..<algorithm.digestLength).map { UInt8(truncatingIfNeeded: $0 + number) }
            )
        }
    }

    @Test(arguments: Checksum.Algorithm.allCases) func keepsWhatItIsGiven(_ algorithm: Checksum.Algorithm) throws {
        let digests = try digests(3, algorithm)
        let pieces = try Checksum.Pieces(length: 100, digests: digests)
        #expect(pieces.algorithm == algorithm && pieces.length == 100 && pieces.count == 3)
        #expect(pieces.fileSizes == 201...300)
        for (index, digest) in digests.enumerated() {
            #expect(pieces.isDigest(digest.bytes, ofPieceAt: Int64(index) * 100))
            #expect(!pieces.isDigest(digests[(index + 1) % 3].bytes, ofPieceAt: Int64(index) * 100))
        }
        #expect(!pieces.isDigest([], ofPieceAt: 0))
    }

    @Test func refusesWhatMakesNoSense() throws {
        let one = try digests(1)
        #expect(throws: Checksum.PieceError.empty) { try Checksum.Pieces(length: 1, digests: []) }
        for length in [0, -1, .min] as [Int64] {
            #expect(throws: Checksum.PieceError.length(length)) { try Checksum.Pieces(length: length, digests: one) }
        }
        let mixed = try digests(2) + digests(1, .sha1)
        #expect(throws: Checksum.PieceError.mixed(.md5, index: 2, .sha1)) {
            try Checksum.Pieces(length: 1, digests: mixed)
        }
        #expect(throws: Checksum.PieceError.length(.max)) {
            try Checksum.Pieces(length: .max, digests: one + one)
        }
        #expect(try Checksum.Pieces(length: .max, digests: one).fileSizes == 1...Int64.max)
        let most = Checksum.Pieces.mostBytes / 16
        let many = repeatElement(one[0], count: most + 1)
        #expect(throws: Checksum.PieceError.tooMany(most + 1, most: most)) {
            try Checksum.Pieces(length: 1, digests: many)
        }
        #expect(try Checksum.Pieces(length: 1, digests: many.dropLast()).count == most)
    }

    @Test(
        arguments: [
            (.empty, "one is empty"), (.length(-1), "cannot have -1 bytes"),
            (.mixed(.md5, index: 2, .sha1), "number 3 sha1"),
            (.tooMany(9, most: 8), "may be 8: use longer ones"),
        ] as [(Checksum.PieceError, String)])
    func saysWhatIsWrong(_ error: Checksum.PieceError, _ words: String) {
        #expect("\(error)".contains(words) && error.errorDescription == "\(error)")
    }

    @Test(
        arguments: [
            (0, nil, 0..<100), (1, nil, 100..<200), (100, 250, 100..<200), (200, 250, 200..<250), (200, nil, 200..<300),
            (201, 250, nil), (200, 200, nil), (300, nil, nil), (.max, nil, nil),
        ] as [(Int64, Int64?, Range<Int64>?)])
    func knowsWhereItsPiecesAre(_ position: Int64, _ total: Int64?, _ range: Range<Int64>?) throws {
        #expect(try Checksum.Pieces(length: 100, digests: digests(3)).range(from: position, in: total) == range)
    }

    @Test func aRecordThatMakesNoSenseHasNone() {
        func pieces(_ length: Int64, _ count: Int) -> Checksum.Pieces? {
            Checksum.Pieces(algorithm: .md5, length: length, joined: [UInt8](repeating: 1, count: count))
        }
        #expect(pieces(1, 32)?.count == 2)
        #expect(pieces(1, 0) == nil && pieces(1, 31) == nil && pieces(0, 32) == nil && pieces(.max, 32) == nil)
        #expect(pieces(1, Checksum.Pieces.mostBytes + 16) == nil)
    }

    // MARK: What is compared next

    private func check(_ total: Int64?, right: Range<Int64>...) throws -> PieceCheck {
        let bytes = Sample.bytes(300)
        var check = PieceCheck(pieces: .of(bytes, length: 100))
        check.total = total
        for range in right {
            let isRight = check.compare(bytes[Int(range.lowerBound)..<Int(range.upperBound)].md5, of: range)
            #expect(isRight)
        }
        return check
    }

    @Test func comparesWhatIsWritten() throws {
        #expect(try check(nil).next(in: []) == nil)
        #expect(try check(nil).next(in: [0..<99]) == nil)
        #expect(try check(nil).next(in: [0..<100]) == 0..<100)
        #expect(try check(nil).next(in: [1..<200]) == 100..<200)
        #expect(try check(nil).next(in: [1..<199, 250..<300]) == nil)
        #expect(try check(nil).next(in: [1..<50, 60..<150, 190..<300]) == 200..<300)
    }

    @Test func nothingTwice() throws {
        #expect(try check(nil, right: 0..<100).next(in: [0..<300]) == 100..<200)
        #expect(try check(nil, right: 100..<200).next(in: [0..<300]) == 0..<100)
        #expect(try check(nil, right: 100..<200).next(in: [50..<300]) == 200..<300)
        #expect(try check(nil, right: 0..<100, 100..<200, 200..<300).next(in: [0..<300]) == nil)
    }

    @Test func theLastWhenTheSizeIsKnown() throws {
        #expect(try check(nil, right: 0..<100, 100..<200).next(in: [0..<250]) == nil)
        #expect(try check(250, right: 0..<100, 100..<200).next(in: [0..<250]) == 200..<250)
        // What is behind the last is none's.
        #expect(try check(400, right: 0..<100, 100..<200, 200..<300).next(in: [0..<400]) == nil)
    }

    @Test func aWrongOneIsNotRight() throws {
        var check = try check(nil)
        let isRight = check.compare([UInt8](repeating: 0, count: 16), of: 0..<100)
        #expect(!isRight && check.right.isEmpty)
    }
}

extension Checksum.Pieces {
    /// The right ones of a file.
    static func of(_ bytes: [UInt8], length: Int, _ algorithm: Checksum.Algorithm = .md5) -> Checksum.Pieces {
        let digests = stride(from: 0, to: bytes.count, by: length).flatMap { start in
            bytes[start..<min(start + length, bytes.count)].digest(algorithm)
        }
        guard let pieces = Checksum.Pieces(algorithm: algorithm, length: Int64(length), joined: digests) else {
            preconditionFailure("a file without bytes has no pieces")
        }
        return pieces
    }
}

extension ArraySlice<UInt8> {
    var md5: [UInt8] { digest(.md5) }

    func digest(_ algorithm: Checksum.Algorithm) -> [UInt8] {
        var hasher = algorithm.makeHasher()
        withUnsafeBytes { hasher.update($0) }
        return hasher.digest()
    }
}
