/// Why a download gave up bytes that it held: all of them, unless said otherwise. Mostly it begins again at the first one.
public enum RestartReason: String, Sendable, Hashable, CaseIterable {
    /// The file on the server is another one now.
    case contentChanged
    /// The server sends the file only as a whole, or nothing usable when it is asked for a part.
    case rangesNotServed
    /// Nothing the server told identifies the version that was begun, and there is no checksum to decide at the end; or
    /// the transport, which holds the bytes itself, has lost them or cannot go on with them.
    case cannotResume
    /// The server's answer contradicted the request or itself.
    case unusableAnswer
    /// Less of the partial file can be read from the disk than was recorded. What can be is kept where it can be used.
    case bytesLost
    /// The bytes do not have the digest that was expected. The download fails where it is not to be tried again.
    case wrongDigest
    /// A piece of the file does not have its digest. It is fetched again, and the others stay, unless all are to come from
    /// one place, or the pieces were given later than the bytes came.
    case wrongPiece
    /// The download was given another URL, and no checksum decides at the end.
    case otherURL
}

/// What a response means for the download that asked.
package enum Verdict: Sendable, Hashable {
    /// A part of the version that is held (or, when none was, of the one that begins), as asked: it begins at the asked
    /// first byte and ends at the asked last one or before. The version is the one to go on with.
    case part(Version, body: Range<Int64>)
    /// The whole file, and no version was held: take the body from position 0.
    case whole(Version)
    /// The rest of the file, from that position on, of which the transport holds the beginning: it hands over the whole.
    case resumed(Version, at: Int64)
    /// The whole file although a version was held: start the partial file over and take the body from position 0, where
    /// it is to be believed.
    case restart(Version, RestartReason)
    /// The body is of no use. When the reason is `contentChanged`, what is held is not either: ask again from zero. Else
    /// ask again, and then for the whole.
    case fromZero(RestartReason)
    /// All bytes of the file are held already.
    case complete(total: Int64)
    /// The answer contradicts the request or itself; what it was is told in words. Ask again, then for the whole, then fail.
    case unusable(String)
    /// Ask there, `location` being a reference relative to the URL that was asked (RFC 9110, 10.2.2).
    case redirect(location: String)
    /// A status that is not a file.
    case refused(status: Int, retryAfter: Duration?)
}

extension Verdict {
    /// The version to go on with, of an answer that brings what was asked for.
    var version: Version? {
        switch self {
        case .whole(let version), .part(let version, _): version
        case .resumed, .restart, .fromZero, .complete, .unusable, .redirect, .refused: nil
        }
    }

    /// Whether the answer is one of another version than the one that is held.
    var isOfChange: Bool {
        switch self {
        case .restart(_, .contentChanged), .fromZero(.contentChanged): true
        case .part, .whole, .resumed, .restart, .fromZero, .complete, .unusable, .redirect, .refused: false
        }
    }

    /// The size of the file, where the answer brings all of it.
    var wholeSize: Int64? {
        switch self {
        case .whole(let version), .resumed(let version, _), .restart(let version, _): version.total
        case .part, .fromZero, .complete, .unusable, .redirect, .refused: nil
        }
    }
}
