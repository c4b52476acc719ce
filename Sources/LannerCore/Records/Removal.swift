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
        static let number: UInt8 = 3
        static let changed: UInt8 = 4
        static let size: UInt8 = 5
    }

    /// The removal as the store keeps it.
    var encoded: Data {
        var writer = RecordWriter(capacity: 128)
        writer.put(Tag.name, place.name)
        writer.put(Tag.directory, place.directory)
        writer.put(Tag.number, Int64(bitPattern: file.number))
        writer.put(Tag.changed, file.changed)
        writer.put(Tag.size, file.size)
        return writer.bytes
    }

    /// Reads a removal; nil when it makes no sense.
    init?(_ data: Data) {
        guard let reader = RecordReader(data), let name = reader.text(Tag.name), FileName.isName(name),
            reader.text(Tag.directory).map(FilePlace.isDirectory) ?? true, let number = reader.number(Tag.number),
            let changed = reader.number(Tag.changed), let size = reader.number(Tag.size)
        else { return nil }
        place = FilePlace(name, in: reader.text(Tag.directory))
        file = FileFingerprint(number: UInt64(bitPattern: number), changed: changed, size: size)
    }
}
