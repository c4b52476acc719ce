/// One download of one manager. Never used again, not even after a restart of the process.
package struct DownloadID: Hashable, Comparable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }

    package static func < (left: DownloadID, right: DownloadID) -> Bool { left.number < right.number }
}

/// The number of one try of a download; it grows with every opening and every start over.
///
/// Whatever an older attempt still reports is ignored.
package typealias Attempt = UInt32

/// One request and its answer. Unique within a manager.
package typealias ExchangeNumber = UInt64

/// What a caller is told by when the verb it gave has come to rest. Unique within a manager.
package typealias Ticket = UInt64
