/// One download of one manager. Never used again, not even after a restart of the process.
@usableFromInline
package struct DownloadID: RawRepresentable, Hashable, Comparable, Sendable {
    // Raw, so that it is hashed as fast as its number is.
    @usableFromInline package let rawValue: UInt64

    @inlinable
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    @inlinable
    package init(_ number: UInt64) {
        self.init(rawValue: number)
    }

    @inlinable package var number: UInt64 { rawValue }

    @inlinable
    package static func < (left: DownloadID, right: DownloadID) -> Bool { left.rawValue < right.rawValue }
}

/// A host, as far as the limit of each is concerned: a number, the same for the same host.
package struct HostID: Hashable, Sendable {
    package let number: UInt64

    package init(_ number: UInt64) {
        self.number = number
    }

    /// That of downloads of which it is not told.
    package static let unknown = HostID(0)
}

/// The number of one try of a download; it grows with every opening and every start over.
///
/// Whatever an older attempt still reports is ignored.
package typealias Attempt = UInt32

/// One request and its answer. Unique within a manager.
package typealias ExchangeNumber = UInt64

/// What a caller is told by when the verb it gave has come to rest. Unique within a manager.
package typealias Ticket = UInt64
