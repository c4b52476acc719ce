/// What identifies one version of a file on a server: its validators and its size, as a response told them.
package struct Version: Sendable, Hashable {
    package let entityTag: EntityTag?
    /// The exact text, a date in one of HTTP's formats: what goes into `If-Range`. Or one with another zone, which is only
    /// compared.
    package let lastModified: String?
    /// The same as seconds since 1970; there exactly when `lastModified` is.
    package let lastModifiedSeconds: Int64?
    /// Whether the file had been as it was for a second or more when it was sent, so that it cannot have changed again
    /// within the same second (RFC 9110, 8.8.2.2). Never without a `Date` to compare with.
    package private(set) var isLastModifiedStrong: Bool
    /// The size of the whole file.
    package private(set) var total: Int64?
    /// Whether the body was sent with a content coding: then it has no size and no ranges that could be used.
    package let isEncoded: Bool
    /// What the server says the digest of the whole file is, where that is to be compared.
    package private(set) var digest: ServerDigest?

    /// What a response with the file, a part of it, or the size of it (416) says.
    package init(_ head: ResponseHead) {
        let fields = head.fields
        let isRanged = head.status == 206 || head.status == 416
        self.init(
            entityTag: EntityTag(fields: fields), lastModified: fields.onlyValue(of: "Last-Modified"),
            isLastModifiedStrong: false,
            total: isRanged ? ContentRange(fields: fields)?.total : ContentLength(fields: fields).value,
            isEncoded: fields.isContentCoded, digest: ServerDigest(head))
        isLastModifiedStrong = isModified(before: fields["Date"])
        let hasNoDate = lastModified == nil && fields.onlyValue(of: "Last-Modified").flatMap(Self.seconds) != nil
        if hasNoDate, entityTag?.mayBeOfDate == true { self = withoutValidators }
        // What a proxy has changed (RFC 9110, 15.3.4) may keep the validators of what it was.
        if head.status == 203 { self = withoutValidators }
    }

    /// A version from a record. What makes no sense is left out.
    package init(
        entityTag: EntityTag?, lastModified: String?, isLastModifiedStrong: Bool, total: Int64?,
        isEncoded: Bool = false, digest: ServerDigest? = nil
    ) {
        let seconds = lastModified.flatMap(Self.modificationSeconds)
        self.entityTag = entityTag
        self.lastModified = seconds == nil ? nil : lastModified
        self.lastModifiedSeconds = seconds
        self.isLastModifiedStrong = seconds != nil && isLastModifiedStrong
        self.total = isEncoded || (total ?? 0) < 0 ? nil : total
        self.isEncoded = isEncoded
        self.digest = digest
    }

    /// A clock that was never set, and builds that give every file the same date, write the first day of 1970: it
    /// says nothing about the content.
    private static func modificationSeconds(_ text: String) -> Int64? {
        seconds(text).flatMap { $0 < 86_400 ? nil : $0 }
    }

    private static func seconds(_ text: String) -> Int64? { HTTPDate.seconds(text) ?? HTTPDate.zonedSeconds(text) }

    private func isModified(before date: String?) -> Bool {
        guard let modified = lastModified.flatMap({ HTTPDate.seconds($0) }),
            let sent = date.flatMap({ HTTPDate.seconds($0) })
        else { return false }
        return modified < sent
    }

    /// The same version with a size that was not known before.
    package func knowing(total: Int64?) -> Version {
        var version = self
        version.total = self.total ?? (isEncoded ? nil : total)
        return version
    }

    /// The same with the size of one that has the same strong tag.
    func knowing(sizeOf other: Version?) -> Version {
        guard let mine = entityTag, let theirs = other?.entityTag, mine.isSameBytes(as: theirs) else { return self }
        return knowing(total: other?.total)
    }

    /// The same version, whose size nobody knows.
    package var withoutSize: Version {
        var version = self
        version.total = nil
        return version
    }

    /// The same version, of which no digest is to be compared.
    package var withoutDigest: Version {
        var version = self
        version.digest = nil
        return version
    }

    /// The same version with the digest that another place has told of the file, unless this one has told another.
    package func knowing(digest known: ServerDigest?) -> Version {
        guard let known, !isEncoded, digest.map(known.isContradicted) != true else { return self }
        var version = self
        version.digest = known
        return version
    }

    package var hasValidators: Bool { entityTag != nil || lastModified != nil }

    /// What stays of it where its validators count for nothing.
    package var withoutValidators: Version {
        Version(
            entityTag: nil, lastModified: nil, isLastModifiedStrong: false, total: total, isEncoded: isEncoded,
            digest: digest)
    }

    /// The same where its digest does not, either, as on another server.
    package var sizeOnly: Version { withoutValidators.withoutDigest }
}

extension Version {
    /// The first rung, from `top` down, on which a download of this version can be gone on with.
    package func rung(from top: Rung = .strongTag, hasDigest: Bool) -> Rung {
        Rung.allCases.first { $0 >= top && holds($0, hasDigest: hasDigest) } ?? .none
    }

    private func holds(_ rung: Rung, hasDigest: Bool) -> Bool {
        switch rung {
        case .strongTag: !isEncoded && entityTag?.isWeak == false
        case .strongDate: !isEncoded && isLastModifiedStrong
        // Without a total there is too little to compare.
        case .weak: !isEncoded && total != nil && hasValidators
        case .digestOnly: !isEncoded && (hasDigest || digest != nil)
        case .none: true
        }
    }

    /// Whether a 206 that was asked for on a rung is a part of this version.
    ///
    /// On the two strong rungs the server has compared already, and may leave validators out; those it sends must agree.
    package func isSame(as answer: Version, on rung: Rung) -> Bool {
        switch rung {
        case .strongTag: !isContradicted(by: answer) && isStrongTagKept(by: answer)
        case .strongDate: !isContradicted(by: answer)
        case .weak: !isContradicted(by: answer) && isConfirmed(by: answer)
        case .digestOnly: !isContentContradicted(by: answer)
        case .none: false
        }
    }

    /// Whether the answer of another place has told all that makes it the same file.
    package func isProven(by answer: Version, on rung: Rung) -> Bool {
        guard let total, answer.total == total else { return false }
        switch rung {
        case .strongTag:
            guard let mine = entityTag, let theirs = answer.entityTag else { return false }
            return mine.isSameBytes(as: theirs)
        case .digestOnly: return true
        case .strongDate, .weak, .none: return false
        }
    }

    /// Whether something that both versions tell differs. A strong tag that is the same outweighs the dates: servers
    /// behind one name often agree on the bytes but not on when they were put there.
    package func isContradicted(by other: Version) -> Bool {
        if isContentContradicted(by: other) { return true }
        if let mine = entityTag, let theirs = other.entityTag {
            if mine.isSameBytes(as: theirs) { return false }
            if !mine.isEquivalent(to: theirs) { return true }
        }
        guard let mine = lastModifiedSeconds, let theirs = other.lastModifiedSeconds else { return false }
        return mine != theirs
    }

    /// Whether size or digest differs.
    private func isContentContradicted(by other: Version) -> Bool {
        if let digest, let theirs = other.digest, digest.isContradicted(by: theirs) { return true }
        guard let total, let theirs = other.total else { return false }
        return total != theirs
    }

    private func isStrongTagKept(by other: Version) -> Bool {
        guard let mine = entityTag, let theirs = other.entityTag else { return true }
        return mine.isSameBytes(as: theirs)
    }

    /// Everything that is held was told again, size and at least one validator.
    private func isConfirmed(by other: Version) -> Bool {
        guard total != nil, other.total != nil else { return false }
        let hasTag = entityTag == nil || other.entityTag != nil
        let hasDate = lastModifiedSeconds == nil || other.lastModifiedSeconds != nil
        return hasTag && hasDate && hasValidators
    }
}
