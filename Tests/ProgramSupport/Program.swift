#if os(macOS) || os(Linux)
import Foundation
import LannerCore

/// A run of the built program.
package final class Program: Sendable {
    /// What was left when it ended.
    package struct Result: Sendable {
        /// The exit code; the negative signal number when a signal killed it.
        package var code: Int32
        package var output: [String]
        package var errors: [String]
    }

    package let output: Lines
    private let process: ChildProcess
    private let errors: Lines
    private let ended: AsyncStream<Int32>

    /// Starts the program, or a script of the shell, which knows it as `$0` and the arguments as `$@`.
    package init(
        _ arguments: [String], in directory: Workplace, input: String? = nil, script: String? = nil
    ) throws {
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        let process = try ChildProcess(
            script == nil ? Self.executable.path : "/bin/sh",
            (script.map { ["-c", $0, Self.executable.path] } ?? []) + arguments, in: directory.url.path,
            input: standardInput.fileHandleForReading.fileDescriptor,
            output: output.fileHandleForWriting.fileDescriptor,
            errors: errors.fileHandleForWriting.fileDescriptor)
        // They are its own now: what it leaves open is to end with it.
        try standardInput.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        try errors.fileHandleForWriting.close()
        // One that has ended unread of it is none of the tests' business.
        #if canImport(Darwin)
        _ = fcntl(standardInput.fileHandleForWriting.fileDescriptor, F_SETNOSIGPIPE, 1)
        #endif
        withoutBrokenPipes { try? standardInput.fileHandleForWriting.write(contentsOf: Data((input ?? "").utf8)) }
        try standardInput.fileHandleForWriting.close()
        self.process = process
        let (ended, end) = AsyncStream.makeStream(of: Int32.self)
        Thread.detachNewThread {
            end.yield(process.wait())
            end.finish()
        }
        self.ended = ended
        self.output = Lines(output.fileHandleForReading)
        self.errors = Lines(errors.fileHandleForReading)
    }

    /// Sends a signal.
    package func send(_ signal: Int32) {
        kill(process.identifier, signal)
    }

    /// Returns when it has ended.
    package func result() async -> Result {
        var code: Int32 = .min
        for await status in ended { code = status }
        return Result(code: code, output: await output.all(), errors: await errors.all())
    }

    /// Runs the program to its end.
    package static func run(
        _ arguments: [String], in directory: Workplace, input: String? = nil, script: String? = nil
    ) async throws -> Result {
        try await Program(arguments, in: directory, input: input, script: script).result()
    }

    /// It is built into the directory that the tests are built into.
    private static var executable: URL {
        #if canImport(Darwin)
        let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
        let products = (tests ?? .main).bundleURL.deletingLastPathComponent()
        #else
        let products = Bundle.main.bundleURL
        #endif
        return products.appendingPathComponent("lanner")
    }
}

/// The lines of a pipe, as they come.
package final class Lines: Sendable {
    private let collector: Task<[String], Never>
    private let stream: AsyncStream<String>

    init(_ handle: FileHandle) {
        let (stream, lines) = AsyncStream.makeStream(of: String.self)
        self.stream = stream
        let (collected, collect) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            var rest = Data()
            while true {
                let data = handle.availableData
                if data.isEmpty { break }
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: rest[..<end], as: UTF8.self)
                    rest = Data(rest[rest.index(after: end)...])
                    lines.yield(line)
                    collect.yield(line)
                }
            }
            lines.finish()
            collect.finish()
        }
        collector = Task { await collected.reduce(into: []) { $0.append($1) } }
    }

    /// Returns the first line that is as wanted; nil when the pipe ends without one. The next call goes on
    /// behind that line; one at a time.
    package func first(where isWanted: (String) -> Bool) async -> String? {
        await stream.first(where: isWanted)
    }

    /// All lines, once the pipe has ended.
    package func all() async -> [String] { await collector.value }
}
#endif
