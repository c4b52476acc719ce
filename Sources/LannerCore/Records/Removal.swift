import Foundation
import LannerMachine

/// A finished file that is to go, its download being on record no more. Should the process die before it is gone, the next
/// launch removes it, and nothing that has come in its place.
struct Removal: Sendable, Equatable {
    var place: FilePlace
    var file: FileFingerprint

    /// The key in the store.
    static func key(_ id: DownloadID) -> String { prefix + String(id.number) }

    /// The download whose file a key is of; nil when it is no such key.
    static func id(ofKey key: String) -> DownloadID? {
        guard key.hasPrefix(prefix), let number = Int64(key.dropFirst(prefix.count)),
            DownloadRecord.numbers.contains(number)
        else { return nil }
        return DownloadID(UInt64(number))
    }

    private static let prefix = "removal-"
}

extension Removal {
    private enum Tag {
        static let name: UInt8 = 1
        static let directory: UInt8 = 2
        static let file: ClosedRange<UInt8> = 3...5
    }

    /// The removal as the store keeps it.
    var encoded: Data {
        var writer = RecordWriter(capacity: 128)
        writer.put(Tag.name, place.name)
        writer.put(Tag.directory, place.directory)
        writer.put(Tag.file, file)
        return writer.bytes
    }

    /// Reads a removal; nil when it makes no sense.
    init?(_ data: Data) {
        guard let reader = RecordReader(data), let place = reader.place(name: Tag.name, directory: Tag.directory),
            let file = reader.fingerprint(Tag.file)
        else { return nil }
        (self.place, self.file) = (place, file)
    }
}

extension RecordWriter {
    /// What tells a file, under three tags: its number, the time of its last change, its size.
    mutating func put(_ tags: ClosedRange<UInt8>, _ file: FileFingerprint?) {
        put(tags.lowerBound, file.map { Int64(bitPattern: $0.number) })
        put(tags.lowerBound + 1, file?.changed)
        put(tags.upperBound, file?.size)
    }
}

extension RecordReader {
    /// What tells a file; nil when not all of it is there.
    func fingerprint(_ tags: ClosedRange<UInt8>) -> FileFingerprint? {
        guard let number = number(tags.lowerBound), let changed = self.number(tags.lowerBound + 1),
            let size = self.number(tags.upperBound)
        else { return nil }
        return FileFingerprint(number: UInt64(bitPattern: number), changed: changed, size: size)
    }

    /// A place; nil when it is none.
    func place(name: UInt8, directory: UInt8) -> FilePlace? {
        let directory = text(directory)
        guard let name = text(name), FileName.isName(name), directory.map(FilePlace.isDirectory) ?? true else {
            return nil
        }
        return FilePlace(name, in: directory)
    }
}
