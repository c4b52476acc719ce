import Lanner

/// What a command line asks for.
enum Command: Sendable, Equatable {
    case get(GetOptions)
    case hash(HashOptions)
    case verify(VerifyOptions)
    case demo
    case help(Help)
    case version

    /// Reads the words behind the program's name.
    init(_ words: some Sequence<String>) throws(UsageError) {
        let words = Array(words)
        guard let name = words.first else { throw UsageError("a command is missing; see lanner --help") }
        var reader = ArgumentReader(words.dropFirst())
        switch name {
        case "get": self = try GetOptions(&reader).map(Command.get) ?? .help(.get)
        case "hash": self = try HashOptions(&reader).map(Command.hash) ?? .help(.hash)
        case "verify": self = try VerifyOptions(&reader).map(Command.verify) ?? .help(.verify)
        case "demo": self = try Self.demo(&reader)
        case "help", "--help", "-h": self = try Self.help(&reader)
        case "--version": self = try Self.version(&reader)
        case _ where name.hasPrefix("-"): throw .unknown(option: name, see: .lanner)
        case _: throw UsageError("\(name.quotedArgument) is no command; see lanner --help")
        }
    }

    private static func demo(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        while let word = try reader.next() {
            switch word {
            case .option("--help"), .option("-h"): return .help(.demo)
            case .option(let name): throw .unknown(option: name, see: .demo)
            case .operand(let text): throw UsageError("demo takes no argument, but there is \(text.quotedArgument)")
            }
        }
        return .demo
    }

    private static func help(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        var topic: Help?
        while let word = try reader.next() {
            switch word {
            case .option("--help"), .option("-h"): return .help(.lanner)
            case .option(let name): throw .unknown(option: name, see: .lanner)
            case .operand(let text) where topic != nil:
                throw UsageError("help is of one command, but there is also \(text.quotedArgument)")
            case .operand(let name): topic = try command(name)
            }
        }
        return .help(topic ?? .lanner)
    }

    private static func command(_ name: String) throws(UsageError) -> Help {
        guard let topic = Help(rawValue: name) else {
            throw UsageError("\(name.quotedArgument) is no command; see lanner --help")
        }
        return topic
    }

    private static func version(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        switch try reader.next() {
        case nil: return .version
        case .option(let text), .operand(let text):
            throw UsageError("--version takes no argument, but there is \(text.quotedArgument)")
        }
    }
}
