import Foundation
import LannerTesting
import Testing

@testable import LannerCore

@Suite struct ConsoleLoggerTests {
    #if compiler(>=6.2)
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
    #endif
}
