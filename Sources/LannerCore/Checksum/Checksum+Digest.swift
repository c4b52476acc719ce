import Foundation

extension Checksum {
    /// A digest and the algorithm it was computed with.
    ///
    /// Written and read as "sha256:HEX", also by `Codable`.
    public struct Digest: Hashable, Sendable {
        /// The algorithm.
        public let algorithm: Algorithm
        /// The digest, most significant byte first; always ``Algorithm/digestLength`` of them.
        public let bytes: [UInt8]

        /// The digest of the bytes a hasher has taken. `algorithm` must be the one the hasher was made by.
        package init(algorithm: Algorithm, of hasher: any Checksum.Hasher) {
            self.algorithm = algorithm
            bytes = hasher.digest()
        }

        /// A digest from its bytes; fails when there are not ``Algorithm/digestLength`` of them.
        public init(algorithm: Algorithm, bytes: some Sequence<UInt8>) throws(ParseError) {
            let bytes = Array(bytes)
            guard bytes.count == algorithm.digestLength else {
                throw .wrongLength(algorithm, digits: 2 * bytes.count)
            }
            self.algorithm = algorithm
            self.bytes = bytes
        }

        /// A digest from hexadecimal digits in either case. White space around them is ignored.
        public init(algorithm: Algorithm, hexadecimal: String) throws(ParseError) {
            let digits = try Self.digits(hexadecimal)
            guard digits.count == 2 * algorithm.digestLength else {
                throw .wrongLength(algorithm, digits: digits.count)
            }
            self.algorithm = algorithm
            bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        }

        private static func digits(_ text: String) throws(ParseError) -> [UInt8] {
            let plain = text.utf8.compactMap(digit)
            if plain.count == text.utf8.count { return plain }
            let trimmed = trimmed(text)
            for character in trimmed where !character.isASCII || !character.isHexDigit {
                throw .badCharacter(character)
            }
            return trimmed.utf8.compactMap(digit)
        }

        private static func trimmed(_ text: String) -> String { text.trimmingCharacters(in: .whitespacesAndNewlines) }

        private static func digit(_ character: UInt8) -> UInt8? {
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
            default: nil
            }
        }

        /// A digest from "ALGORITHM:HEX". White space around either part is ignored.
        public init(parsing text: String) throws(ParseError) {
            guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
                throw .missingAlgorithm(text)
            }
            let name = String(text[..<colon])
            guard let algorithm = Algorithm(rawValue: name) ?? Algorithm(name: Self.trimmed(name)) else {
                throw .unknownAlgorithm(Self.trimmed(name))
            }
            try self.init(algorithm: algorithm, hexadecimal: String(text[text.utf8.index(after: colon)...]))
        }

        /// The digest in lowercase hexadecimal digits.
        public var hexadecimal: String {
            var text: [UInt8] = []
            text.reserveCapacity(2 * bytes.count)
            for byte in bytes {
                text.append(Self.character(byte >> 4))
                text.append(Self.character(byte & 15))
            }
            return String(decoding: text, as: UTF8.self)
        }

        private static func character(_ digit: UInt8) -> UInt8 {
            digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        }
    }
}

extension Checksum.Digest: CustomStringConvertible {
    /// The digest as "sha256:HEX", which ``init(parsing:)`` reads.
    public var description: String {
        "\(algorithm.rawValue):\(hexadecimal)"
    }
}

extension Checksum.Digest: Codable {
    /// Reads the form that ``description`` writes.
    public init(from decoder: any Decoder) throws {
        try self.init(parsing: decoder.singleValueContainer().decode(String.self))
    }

    /// Writes ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Checksum {
    /// Why a text is not a digest.
    public enum ParseError: Error, Hashable, Sendable {
        /// There is no colon between an algorithm and a digest in this text.
        case missingAlgorithm(String)
        /// There is no algorithm of this name.
        case unknownAlgorithm(String)
        /// The digest has another number of hexadecimal digits than the algorithm's digests have.
        case wrongLength(Algorithm, digits: Int)
        /// The digest contains something else than hexadecimal digits.
        case badCharacter(Character)
    }
}

extension Checksum.ParseError: LocalizedError, CustomStringConvertible {
    /// One sentence for people.
    public var description: String {
        switch self {
        case .missingAlgorithm(let text):
            "\"\(text)\" does not name its algorithm; write ALGORITHM:HEX, for example sha256:HEX."
        case .unknownAlgorithm(let name):
            "\"\(name)\" is not a known checksum algorithm; \(Self.knownNames) are."
        case .wrongLength(let algorithm, let digits):
            "A \(algorithm.rawValue) checksum has \(2 * algorithm.digestLength) hexadecimal digits, this one \(digits)."
        case .badCharacter(let character):
            "A checksum consists of hexadecimal digits, this one contains \(String(character).debugDescription)."
        }
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }

    private static var knownNames: String {
        Checksum.Algorithm.allCases.map(\.rawValue).joined(separator: ", ")
    }
}
