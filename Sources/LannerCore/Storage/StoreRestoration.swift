import Foundation

/// Gathers what the files of a store hold, and what is wrong with them.
struct StoreRestoration {
    private(set) var image = StoreImage()
    /// The highest sequence number that was seen.
    private(set) var sequence: UInt64 = 0
    /// Behind the last commit of the journal that was read last; 0 when it has to be made anew.
    private(set) var journalEnd: Int64 = 0
    private(set) var damage: Damage

    init(_ damage: Damage) {
        self.damage = damage
    }

    /// Adds what a file says to what earlier files said.
    mutating func read(
        _ contents: FileContents, _ kind: StoreFileKind, _ name: String
    ) throws(FrameScanner.UnknownVersion) {
        try contents.withBytes { bytes throws(FrameScanner.UnknownVersion) in try read(bytes, kind, name) }
    }

    private mutating func read(
        _ bytes: UnsafeRawBufferPointer, _ kind: StoreFileKind, _ name: String
    ) throws(FrameScanner.UnknownVersion) {
        var scanner = try FrameScanner(bytes, kind)
        image.reserve(forBytes: bytes.count)
        while let changes = scanner.next() {
            for change in changes { image.apply(change) }
        }
        switch kind {
        case .journal:
            sequence = max(sequence, scanner.sequence)
            journalEnd = Int64(scanner.end)
        case .snapshot:
            sequence = max(sequence, scanner.base)
            // It was synced before it got its name, so that the machine's death is no excuse.
            if !scanner.hasEndMark { scanner.markEndDamaged() }
        }
        for range in scanner.damaged { damage.add(bytes, range, of: name) }
    }

    /// Says that a file is not there that should be.
    mutating func noteMissing(_ name: String) {
        damage.addMissing(name)
    }
}

/// What could not be read from the files of a store.
struct Damage {
    private enum Place {
        case bytes(Range<Int>, file: String)
        case missing(file: String)
    }

    let directory: String
    /// The file that takes the bytes.
    var target: String
    /// All damaged bytes, one piece behind the other.
    private(set) var bytes: [UInt8] = []
    private var places: [Place] = []

    init(directory: String, target: String) {
        self.directory = directory
        self.target = target
    }

    var isEmpty: Bool { places.isEmpty }

    mutating func add(_ source: UnsafeRawBufferPointer, _ range: Range<Int>, of file: String) {
        bytes.append(contentsOf: source[range])
        places.append(.bytes(range, file: file))
    }

    mutating func addMissing(_ file: String) {
        places.append(.missing(file: file))
    }

    /// One sentence for each place; the failure is why the bytes could not be set aside.
    func sentences(_ failure: FileError?) -> [String] {
        places.map { place in
            switch place {
            case .missing(let file):
                "\(file) in \(directory) is gone; the records that only it held are lost."
            case .bytes(let range, let file) where range.isEmpty:
                "\(file) in \(directory) ends early, at byte \(range.lowerBound); the records behind it are lost."
            case .bytes(let range, let file):
                "\(file) in \(directory) is damaged from byte \(range.lowerBound) to byte \(range.upperBound); "
                    + "what stood there is left out and \(fate(failure)), all else is restored."
            }
        }
    }

    private func fate(_ failure: FileError?) -> String {
        failure.map { "could not be copied to \(target) yet (\($0))" } ?? "kept in \(target)"
    }
}
