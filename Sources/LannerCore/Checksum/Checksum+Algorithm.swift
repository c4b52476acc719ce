extension Checksum {
    /// An algorithm that computes digests.
    public enum Algorithm: String, CaseIterable, Codable, Hashable, Sendable {
        /// MD5 (RFC 1321). Finds damage; does not stand up to intent.
        case md5
        /// SHA-1 (FIPS 180-4). Finds damage; does not stand up to intent.
        case sha1
        /// SHA-256 (FIPS 180-4).
        case sha256
        /// SHA-512 (FIPS 180-4).
        case sha512

        /// Finds an algorithm by its name, in any case and with or without its hyphen: "sha256", "SHA-256".
        public init?(name: some StringProtocol) {
            let folded = name.lowercased()
            guard let match = Self.allCases.first(where: { folded == $0.rawValue || folded == $0.hyphenated }) else {
                return nil
            }
            self = match
        }

        /// The length of a digest in bytes.
        public var digestLength: Int {
            switch self {
            case .md5: 16
            case .sha1: 20
            case .sha256: 32
            case .sha512: 64
            }
        }

        /// A hasher that has taken no bytes.
        public func makeHasher() -> any Checksum.Hasher {
            switch self {
            case .md5: MD5()
            case .sha1: SHA1()
            case .sha256: SHA256()
            case .sha512: SHA512()
            }
        }

        /// The other common spelling, as in HTTP's digest fields.
        private var hyphenated: String {
            switch self {
            case .md5: "md-5"
            case .sha1: "sha-1"
            case .sha256: "sha-256"
            case .sha512: "sha-512"
            }
        }
    }
}
