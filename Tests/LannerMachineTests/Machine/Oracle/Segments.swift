import LannerMachine

/// What a file on the model's disk holds: which version of the remote file each position came from.
struct Segments: Equatable {
    private(set) var pieces: [(range: Range<Int64>, version: Int)] = []

    static func == (left: Segments, right: Segments) -> Bool {
        left.pieces.elementsEqual(right.pieces) { $0.range == $1.range && $0.version == $1.version }
    }

    /// All positions that hold something.
    var ranges: ByteRanges { ByteRanges(pieces.map(\.range)) }

    /// Writes over what was there.
    mutating func write(_ range: Range<Int64>, version: Int) {
        guard !range.isEmpty else { return }
        if let last = pieces.last, last.version == version, last.range.upperBound == range.lowerBound {
            pieces[pieces.count - 1].range = last.range.lowerBound..<range.upperBound
            return
        }
        var kept = without(range)
        let place = kept.firstIndex { $0.range.lowerBound >= range.upperBound } ?? kept.count
        kept.insert((range, version), at: place)
        pieces = kept
    }

    /// Loses everything that is not in the set.
    mutating func keep(_ set: ByteRanges) {
        pieces = pieces.flatMap { piece in
            set.intersection(ByteRanges([piece.range])).ranges.map { ($0, piece.version) }
        }
    }

    /// The versions found in a set of positions.
    func versions(in set: ByteRanges) -> Set<Int> {
        var found: Set<Int> = []
        for piece in pieces where set.ranges.contains(where: { $0.overlaps(piece.range) }) {
            found.insert(piece.version)
        }
        return found
    }

    private func without(_ range: Range<Int64>) -> [(range: Range<Int64>, version: Int)] {
        pieces.flatMap { piece in
            [
                piece.range.lowerBound..<max(piece.range.lowerBound, min(piece.range.upperBound, range.lowerBound)),
                min(piece.range.upperBound, max(piece.range.lowerBound, range.upperBound))..<piece.range.upperBound,
            ].filter { !$0.isEmpty }.map { ($0, piece.version) }
        }
    }
}

/// One generation of a partial file, as it is on the disk.
struct Generation {
    let number: UInt32
    /// With the kernel: survives the process.
    var content = Segments()
    /// With the device: survives the machine.
    var synced = ByteRanges()
}
