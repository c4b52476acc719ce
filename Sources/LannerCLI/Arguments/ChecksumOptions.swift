import Lanner

/// What `lanner hash` was asked for.
struct HashOptions: Sendable, Equatable {
    var algorithm = Checksum.Algorithm.sha256
    /// `-` for standard input.
    var files: [String] = []

    static func parse(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        var options = HashOptions()
        while let word = try reader.next() {
            switch word {
            case .operand(let file): options.files.append(file)
            case .option("--algorithm"): options.algorithm = try .argument(reader.value("a name: " + names))
            case .option("--help"), .option("-h"): return .help(.hash)
            case .option(let name): throw .unknown(option: name, see: .hash)
            }
        }
        if options.files.isEmpty { throw UsageError("a FILE is missing; - is standard input") }
        return .hash(options)
    }

    fileprivate static let names = Checksum.Algorithm.allCases.map(\.rawValue).joined(separator: ", ")
}

/// What `lanner verify` was asked for.
struct VerifyOptions: Sendable, Equatable {
    var digest: Checksum.Digest
    /// `-` for standard input.
    var file: String

    static func parse(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        var operands: [String] = []
        while let word = try reader.next() {
            switch word {
            case .operand(let text): operands.append(text)
            case .option("--help"), .option("-h"): return .help(.verify)
            case .option(let name): throw .unknown(option: name, see: .verify)
            }
        }
        guard operands.count == 2 else {
            throw UsageError("verify needs a checksum, ALGO:HEX, and one FILE")
        }
        return .verify(VerifyOptions(digest: try .argument(operands[0]), file: operands[1]))
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
