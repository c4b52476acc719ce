/// What the next request asks a server for.
package struct Ask: Sendable, Hashable {
    /// The bytes that are wanted; nil asks for the file as a whole, without `Range`. Never empty.
    package let range: Range<Int64>?
    /// Whether everything from the range's first byte on is asked for: a server may send past its end.
    package let isOpenEnded: Bool
    /// The validator that has to hold for the range to be sent (`If-Range`, RFC 9110, 13.1.5); the server sends the whole
    /// file otherwise.
    package let ifRange: String?
    /// The version that an answer has to continue; nil when nothing is held and nothing has begun.
    @Apart package private(set) var held: Version?
    /// How the answer is tied to `held`; `none` when `held` is nil.
    package let rung: Rung
    /// The transport's own resume data, which stand for the bytes that it holds; then there is no range.
    package let resumeData: [UInt8]?
    /// Where it goes.
    package private(set) var source: Source = 0
    /// Whether `held` was told elsewhere: then the answer has to prove that it is the same, or a digest decides.
    package private(set) var isElsewhere = false

    /// Whether this asks for the file as a whole, from nothing.
    package var isPlain: Bool { range == nil && resumeData == nil }

    /// Asks for the file from its first byte on, without `Range`, whatever is held.
    package static let whole = Ask(range: nil, isOpenEnded: true, ifRange: nil, held: nil, rung: .none)

    /// Has the transport go on by its own means, and hand over the whole file; `held` is the version that was begun.
    package static func resumed(_ data: ResumeData, held: Version?) -> Ask {
        Ask(range: nil, isOpenEnded: true, ifRange: nil, held: held, rung: .none, resumeData: data.bytes)
    }

    /// Asks for a range of the file.
    ///
    /// Nil when that cannot be done: the held version has no rung from `top` down, the range is empty, or it does not
    /// begin at 0 though no version is held. Then only `whole` is left.
    package static func next(
        range: Range<Int64>, isOpenEnded: Bool, held: Version?, from top: Rung = .strongTag, hasDigest: Bool
    ) -> Ask? {
        guard !range.isEmpty, range.lowerBound >= 0 else { return nil }
        guard let held else {
            guard range.lowerBound == 0 else { return nil }
            return Ask(range: range, isOpenEnded: isOpenEnded, ifRange: nil, held: nil, rung: .none)
        }
        let rung = held.rung(from: top, hasDigest: hasDigest)
        guard rung != .none else { return nil }
        return Ask(
            range: range, isOpenEnded: isOpenEnded, ifRange: validator(of: held, on: rung), held: held, rung: rung)
    }

    /// The same request, at another place.
    package func at(_ source: Source) -> Ask {
        var ask = self
        ask.source = source
        return ask
    }

    /// Asks a place for a range of a file whose version was told at another.
    ///
    /// Validators tell versions of one URL apart. Only a strong tag that is the same, with the same size, is taken for
    /// the same bytes, for nobody makes two alike but from the bytes or for a copy of the file. Nil without one, or when it
    /// is not to be trusted, unless a digest decides at the end.
    package static func elsewhere(
        range: Range<Int64>, isOpenEnded: Bool, held: Version, from top: Rung = .strongTag, hasDigest: Bool,
        source: Source
    ) -> Ask? {
        guard !range.isEmpty, range.lowerBound >= 0, held.total != nil else { return nil }
        let isTagged = held.rung(from: top, hasDigest: false) == .strongTag
        guard !held.isEncoded, hasDigest || isTagged else { return nil }
        let rung = hasDigest ? Rung.digestOnly : .strongTag
        var ask = Ask(
            range: range, isOpenEnded: isOpenEnded, ifRange: validator(of: held, on: rung), held: held, rung: rung)
        (ask.source, ask.isElsewhere) = (source, true)
        return ask
    }

    private init(
        range: Range<Int64>?, isOpenEnded: Bool, ifRange: String?, held: Version?, rung: Rung,
        resumeData: [UInt8]? = nil
    ) {
        self.range = range
        self.isOpenEnded = isOpenEnded
        self.ifRange = ifRange
        self.held = held
        self.rung = rung
        self.resumeData = resumeData
    }

    private static func validator(of version: Version, on rung: Rung) -> String? {
        switch rung {
        case .strongTag: version.entityTag?.text
        case .strongDate: version.lastModified
        case .weak, .digestOnly, .none: nil
        }
    }

    /// The fields that this adds to the caller's: no content coding, and the range with its condition.
    package var headerFields: HeaderFields {
        var fields: HeaderFields = ["Accept-Encoding": "identity"]
        guard let range else { return fields }
        fields["Range"] = "bytes=\(range.lowerBound)-" + (isOpenEnded ? "" : "\(range.upperBound - 1)")
        if let ifRange { fields["If-Range"] = ifRange }
        return fields
    }
}
