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
        case "get": self = try GetOptions.parse(&reader)
        case "hash": self = try HashOptions.parse(&reader)
        case "verify": self = try VerifyOptions.parse(&reader)
        case "demo": self = try Self.demo(&reader)
        case "help", "--help", "-h": self = try Self.help(&reader)
        case "--version": self = .version
        case _ where name.hasPrefix("-"): throw .unknown(option: name, see: .lanner)
        case _: throw UsageError("\(name.quoted) is no command; see lanner --help")
        }
    }

    private static func demo(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        while let word = try reader.next() {
            switch word {
            case .option("--help"), .option("-h"): return .help(.demo)
            case .option(let name): throw .unknown(option: name, see: .demo)
            case .operand(let text): throw UsageError("demo takes no argument, but there is \(text.quoted)")
            }
        }
        return .demo
    }

    private static func help(_ reader: inout ArgumentReader) throws(UsageError) -> Command {
        guard case .operand(let name)? = try reader.next() else { return .help(.lanner) }
        guard let topic = Help(rawValue: name) else {
            throw UsageError("\(name.quoted) is no command; see lanner --help")
        }
        return .help(topic)
    }
}

extension UsageError {
    static func unknown(option: String, see topic: Help) -> UsageError {
        let command = topic == .lanner ? "lanner" : "lanner \(topic.rawValue)"
        return UsageError("there is no option \(option.quoted); see \(command) --help")
    }
}
