import Foundation

@main
enum Main {
    /// The version that `--version` tells.
    static let version = "0.1.0"

    static func main() async {
        Console.holdClosedStreams()
        await run().end()
    }

    private static func run() async -> ExitCode {
        do throws(UsageError) {
            return try await perform(Command(words()))
        } catch {
            // The words were not understood, but for this one.
            let isJSON = CommandLine.arguments.dropFirst().prefix { $0 != "--" }.contains("--json")
            let trouble = Trouble(code: "usage", reason: error.message, exitCode: .usage)
            if isJSON { _ = Console.output(JSONLines.line(trouble)) }
            error.lines.forEach(Console.error)
            return .usage
        }
    }

    /// The words behind the program's name. `CommandLine.arguments` would make other ones of those that are not UTF-8.
    private static func words() throws(UsageError) -> [String] {
        let arguments = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        var words: [String] = []
        for case (let number, let argument?) in arguments.enumerated().dropFirst() {
            guard let word = String(validatingCString: argument) else {
                throw UsageError("argument \(number), \(String(cString: argument).quoted), is not UTF-8")
            }
            words.append(word)
        }
        return words
    }

    private static func perform(_ command: Command) async throws(UsageError) -> ExitCode {
        switch command {
        case .get(let options): return try await GetCommand(options).run()
        case .hash(let options): return HashCommand.run(options)
        case .verify(let options): return VerifyCommand.run(options)
        case .demo: return await DemoCommand.run()
        case .help(let topic): return tell(topic.text)
        case .version: return tell("lanner \(version)")
        }
    }

    private static func tell(_ text: String) -> ExitCode {
        Console.output(text) == nil ? .success : .failure
    }
}
