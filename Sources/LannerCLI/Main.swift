import Foundation

@main
enum Main {
    /// The version that `--version` tells.
    static let version = "0.1.0"

    static func main() async {
        exit(await run(CommandLine.arguments.dropFirst()).number)
    }

    private static func run(_ words: some Sequence<String>) async -> ExitCode {
        do throws(UsageError) {
            return try await perform(Command(words))
        } catch {
            Console.error(error.message)
            return .usage
        }
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
