import LannerMachine

/// Which pieces of a partial file have been compared with their digests.
struct PieceCheck {
    let pieces: Checksum.Pieces
    /// The size of the file, once it is known.
    var total: Int64?
    /// The pieces that are right.
    private(set) var right = ByteRanges()

    /// A piece that is written and was not compared.
    func next(in written: ByteRanges) -> Range<Int64>? {
        for range in written.ranges {
            var position = range.lowerBound
            while let gap = right.firstGap(from: position, below: range.upperBound),
                let piece = pieces.range(from: gap.lowerBound, in: total), piece.upperBound <= range.upperBound
            {
                if !right.contains(piece) { return piece }
                position = piece.upperBound
            }
        }
        return nil
    }

    /// A piece has this digest; whether it is right.
    mutating func compare(_ digest: [UInt8], of piece: Range<Int64>) -> Bool {
        guard pieces.isDigest(digest, ofPieceAt: piece.lowerBound) else { return false }
        right.insert(piece)
        return true
    }
}
