import Foundation
import LannerMachine

/// What tells the partial files of one store from those of another in the same directory.
///
/// Every record has the token as well, so that the loss of this one value costs no bytes.
struct StoreIdentity: Sendable, Equatable {
    /// The key in the store; those of downloads are numbers.
    static let key = "identity"

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
        return Data(writer.bytes)
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
struct PartialName {
    let token: UInt64
    let id: DownloadID
    let generation: UInt32

    var text: String { Self.prefix(token) + "\(id.number)-\(generation)" + Self.suffix }

    private static let suffix = ".part"

    private static func prefix(_ token: UInt64) -> String { String(token, radix: 16) + "-" }

    /// Whether a file in the directory is a partial file of a store with one of the tokens.
    static func isName(_ name: String, with tokens: Set<UInt64>) -> Bool {
        name.hasSuffix(suffix) && tokens.contains { name.hasPrefix(prefix($0)) }
    }
}
