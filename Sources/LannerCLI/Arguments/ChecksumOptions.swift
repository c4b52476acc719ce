import Lanner

/// What `lanner hash` was asked for.
struct HashOptions: Sendable, Equatable {
    var algorithm = Checksum.Algorithm.sha256
    /// `-` for standard input.
    var files: [String] = []

    static let names = Checksum.Algorithm.allCases.map(\.rawValue).joined(separator: ", ")
}

extension HashOptions {
    /// Reads the words behind the command's name; nil when they ask for help.
    init?(_ reader: inout ArgumentReader) throws(UsageError) {
        while let word = try reader.next() {
            switch word {
            case .operand(let file): files.append(file)
            case .option("--algorithm"): algorithm = try .argument(reader.value("a name: " + Self.names))
            case .option("--help"), .option("-h"): return nil
            case .option(let name): throw .unknown(option: name, see: .hash)
            }
        }
        if files.isEmpty { throw UsageError("a FILE is missing; - is standard input") }
    }
}

/// What `lanner verify` was asked for.
struct VerifyOptions: Sendable, Equatable {
    var digest: Checksum.Digest
    /// `-` for standard input.
    var file: String
}

extension VerifyOptions {
    /// Reads the words behind the command's name; nil when they ask for help.
    init?(_ reader: inout ArgumentReader) throws(UsageError) {
        var operands: [String] = []
        while let word = try reader.next() {
            switch word {
            case .operand(let text): operands.append(text)
            case .option("--help"), .option("-h"): return nil
            case .option(let name): throw .unknown(option: name, see: .verify)
            }
        }
        guard operands.count == 2 else {
            throw UsageError("verify needs a checksum, ALGO:HEX, and one FILE")
        }
        self.init(digest: try .argument(operands[0], of: "verify"), file: operands[1])
    }
}

extension Checksum.Algorithm {
    fileprivate static func argument(_ text: String) throws(UsageError) -> Checksum.Algorithm {
        guard let algorithm = Checksum.Algorithm(name: text) else {
            throw UsageError("there is no algorithm \(text.quoted); there are \(HashOptions.names)")
        }
        return algorithm
    }
}
