/// What ties a later answer to the bytes that are held, best first.
package enum Rung: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// `If-Range` with a strong entity tag.
    case strongTag
    /// `If-Range` with a date at which the file had not changed for a while.
    case strongDate
    /// No condition; the answer's validators and total have to be the ones that are held.
    case weak
    /// No condition; the digest of the whole file decides at the end.
    case digestOnly
    /// Nothing: what is held cannot be gone on with.
    case none

    package static func < (left: Rung, right: Rung) -> Bool { left.rawValue < right.rawValue }

    /// The next worse one; `none` is the last.
    package var next: Rung { Rung(rawValue: rawValue + 1) ?? .none }
}

/// Remembers which rungs a server has failed on, so that one which denies its own validators does not cost the whole
/// file again and again.
///
/// A download that starts over because its file changed keeps its trust in the server as long as it comes farther each
/// time. Once it starts over with no more than it ever held, the rung it asked on is given up. It comes back when a
/// later start over finds more than ever was held: then the rungs below have done their work.
package struct RungLadder: Sendable, Hashable {
    /// The best rung that may still be asked on.
    package private(set) var top: Rung = .strongTag
    /// The most bytes that were held at any start over.
    package private(set) var mark: Int64 = 0
    private var digestTry = DigestTry.open

    private enum DigestTry {
        case open, underWay, over
    }

    package init() {}

    /// Nothing that a server tells ties an answer to the bytes any more; the digest of the whole file decides at the end.
    /// False when that was tried before, and the file was another one.
    package mutating func leaveToDigest() -> Bool {
        guard digestTry == .open else { return false }
        digestTry = .underWay
        top = max(top, .digestOnly)
        return true
    }

    /// The file is not what it was to be. Says whether its bytes had been left to the digest to tie.
    package mutating func endDigestTry() -> Bool {
        defer { if digestTry == .underWay { digestTry = .over } }
        return digestTry == .underWay
    }

    /// Notes that a download starts over and throws `held` bytes away, after an answer that was asked for on a rung;
    /// `none` says that nothing was tied to the answer, and gives nothing up.
    package mutating func startedOver(losing held: Int64, askedOn rung: Rung) {
        if held > mark {
            mark = held
            top = .strongTag
        } else if rung != .none {
            top = max(top, rung.next)
        }
    }
}
