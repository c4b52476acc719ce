import Foundation
import LannerMachine

/// What tells the partial files of one store from those of another in the same directory.
///
/// Every record has the token as well, so that the loss of this one value costs no bytes.
package struct StoreIdentity: Sendable, Equatable {
    /// The key in the store; those of downloads are numbers.
    package static let key = "identity"

    /// Random, made once, and part of the name of every partial file.
    let token: UInt64
    /// The highest number that a download was ever given. Kept with every removal, so that a number is not given again
    /// while something of the download that had it may be left.
    var lastID: UInt64 = 0

    private enum Tag {
        static let token: UInt8 = 1
        static let lastID: UInt8 = 2
    }

    /// The identity as the store keeps it.
    var encoded: Data {
        var writer = RecordWriter(capacity: 32)
        writer.put(Tag.token, Int64(bitPattern: token))
        writer.put(Tag.lastID, Int64(bitPattern: lastID))
        return writer.bytes
    }

    init(token: UInt64) {
        self.token = token
    }

    /// Reads an identity; nil when it is none.
    init?(_ data: Data) {
        guard let reader = RecordReader(data), let token = reader.number(Tag.token),
            let lastID = reader.number(Tag.lastID), DownloadRecord.numbers.contains(lastID)
        else { return nil }
        self.token = UInt64(bitPattern: token)
        self.lastID = UInt64(bitPattern: lastID)
    }
}

/// The name of a partial file.
package struct PartialName: Hashable {
    let token: UInt64
    let id: DownloadID
    let generation: UInt32

    /// Made of bytes: there is one for every file.
    var text: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        bytes.appendDigits(of: token, radix: 16)
        bytes.append(UInt8(ascii: "-"))
        bytes.appendDigits(of: id.number, radix: 10)
        bytes.append(UInt8(ascii: "-"))
        bytes.appendDigits(of: UInt64(generation), radix: 10)
        bytes.append(contentsOf: Self.suffix.utf8)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let suffix = ".part"
}

extension PartialName {
    /// Behind the name of a partial file that of its copy on another file system has.
    static let copySuffix = ".copy"

    /// Whose copy has a name; nil when it is none of ours.
    init?(ofCopy text: String) {
        guard text.hasSuffix(Self.copySuffix) else { return nil }
        self.init(String(text.dropLast(Self.copySuffix.count)))
    }

    /// Reads a name; nil when it is none of ours.
    package init?(_ text: String) {
        guard text.hasSuffix(Self.suffix) else { return nil }
        let parts = text.dropLast(Self.suffix.count).split(separator: "-")
        guard parts.count == 3, let token = UInt64(parts[0], radix: 16), let number = UInt64(parts[1]),
            let generation = UInt32(parts[2])
        else { return nil }
        self.init(token: token, id: DownloadID(number), generation: generation)
        if self.text != text { return nil }
    }
}

extension [UInt8] {
    /// In ASCII, without zeros in front.
    fileprivate mutating func appendDigits(of number: UInt64, radix: UInt64) {
        if number >= radix { appendDigits(of: number / radix, radix: radix) }
        let digit = UInt8(truncatingIfNeeded: number % radix)
        append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
    }
}
