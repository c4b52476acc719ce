import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct ConsoleLoggerTests {
    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// In a process of its own, of which nothing else is on standard error.
    @Test func writesALineOfEachKindWithoutSecrets() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let bench = TestBench()
            let task = try #require(bench.manager.download("https://me:secret@example.com/file.bin?key=secret#secret"))
            let logger = ConsoleLogger(identifier: "name")
            logger.log(.sessionManager("is there", manager: bench.manager))
            logger.log(.downloadTask("begins", task: task))
            logger.log(.error("has failed", error: LannerError.invalidURL(url: "nonsense")))
        }
        let text = try #require(result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) })
        #expect(
            text == """
                [name] is there (running)
                [name] begins: https://example.com/file.bin?…#… (running)
                [name] has failed: \(LannerError.invalidURL(url: "nonsense"))

                """)
    }

    /// Whoever read standard error has gone, as `head` does; the signal for that would be the end of the downloads.
    @Test func whereNobodyReadsAnyMoreItGoesOn() async {
        await #expect(processExitsWith: .success) {
            // What watches the process writes there as well.
            let own = dup(STDERR_FILENO)
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO && close(ends[0]) == 0)
            let logger = ConsoleLogger(identifier: "name")
            for _ in 0..<3 { logger.log(.error("has failed", error: LannerError.invalidated)) }
            #expect(dup2(own, STDERR_FILENO) == STDERR_FILENO)
            var signals = sigset_t()
            #expect(sigpending(&signals) == 0 && sigismember(&signals, SIGPIPE) == 0)
            #expect(pthread_sigmask(SIG_BLOCK, nil, &signals) == 0 && sigismember(&signals, SIGPIPE) == 0)
        }
    }
    #endif
}
