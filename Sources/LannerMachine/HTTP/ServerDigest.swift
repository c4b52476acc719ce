/// A digest of a whole file, as its server gave it.
package struct ServerDigest: Sendable, Hashable {
    /// The algorithms that are understood, the one that is taken first of several first: the fastest of the strong ones.
    package enum Algorithm: String, Sendable, Hashable, CaseIterable {
        case sha256, sha512, sha1, md5

        /// The key in the registry of hash algorithms for HTTP digest fields (RFC 9530, 5).
        fileprivate var key: String {
            switch self {
            case .sha256: "sha-256"
            case .sha512: "sha-512"
            case .sha1: "sha"
            case .md5: "md5"
            }
        }

        fileprivate var length: Int {
            switch self {
            case .sha256: 32
            case .sha512: 64
            case .sha1: 20
            case .md5: 16
            }
        }
    }

    package let algorithm: Algorithm
    /// Most significant byte first; as many as the algorithm's digests have.
    package let bytes: [UInt8]

    /// Nil when there are not as many bytes as the algorithm's digests have.
    package init?(_ algorithm: Algorithm, _ bytes: [UInt8]) {
        guard bytes.count == algorithm.length else { return nil }
        (self.algorithm, self.bytes) = (algorithm, bytes)
    }

    /// Whether another digest by the same algorithm is another one.
    func isContradicted(by other: ServerDigest) -> Bool {
        algorithm == other.algorithm && bytes != other.bytes
    }
}

extension ServerDigest {
    /// What an answer says of the whole file: in `Repr-Digest` (RFC 9530, 3), else in `Content-MD5` (RFC 2616, 14.15),
    /// which speaks of the body and so of the file only where that is the whole. Nil when it says nothing that can be
    /// used.
    ///
    /// Not in a 203, which a proxy has changed, and not of a file that is sent encoded.
    package init?(_ head: ResponseHead) {
        guard head.status == 200 || head.status == 206, !head.fields.isContentCoded else { return nil }
        guard let digest = Self.representation(head.fields) ?? (head.status == 200 ? Self.body(head.fields) : nil)
        else {
            return nil
        }
        self = digest
    }

    private static func representation(_ fields: HeaderFields) -> ServerDigest? {
        let lines = fields.values(of: "Repr-Digest")
        guard !lines.isEmpty, let digests = ByteDictionary(lines)?.values else { return nil }
        return Algorithm.allCases.lazy.compactMap { algorithm in
            digests[algorithm.key].flatMap { ServerDigest(algorithm, $0) }
        }.first
    }

    private static func body(_ fields: HeaderFields) -> ServerDigest? {
        let lines = Set(fields.values(of: "Content-MD5").map { FieldText.trimmed($0) })
        guard lines.count == 1, let line = lines.first else { return nil }
        return Base64.decode(line).flatMap { ServerDigest(.md5, $0) }
    }

    /// The field of an answer that should have a digest in it and is malformed; for the log.
    package static func malformedField(_ head: ResponseHead) -> String? {
        guard head.status == 200 || head.status == 206 else { return nil }
        let lines = head.fields.values(of: "Repr-Digest")
        if !lines.isEmpty, isMalformed(lines) { return "Repr-Digest" }
        let hasBody = head.status == 200 && head.fields["Content-MD5"] != nil
        return hasBody && body(head.fields) == nil ? "Content-MD5" : nil
    }

    private static func isMalformed(_ lines: [String]) -> Bool {
        guard let digests = ByteDictionary(lines)?.values else { return true }
        return Algorithm.allCases.contains { algorithm in
            digests[algorithm.key].map { $0.count != algorithm.length } ?? false
        }
    }
}
