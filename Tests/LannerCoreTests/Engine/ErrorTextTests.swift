import Foundation
import LannerCore
import LannerTesting
import Testing

/// Every error says what it is to whoever shows it, however he asks.
@Suite struct ErrorTextTests {
    @Test(
        arguments: [
            StoreError(.inUse, "It is in use."), DownloadFailure(.link, "There is no link."),
            TransportFailure(.timedOut, "It took too long."), DownloadLink.Unavailable("It was withdrawn."),
            LannerError.failed(DownloadFailure(.link, "There is no link.")),
        ] as [any Error])
    func itIsOneSentence(error: any Error) {
        let text = error.localizedDescription
        #expect("\(error)" == text)
        #expect(text.hasSuffix(".") && !text.hasPrefix("The operation"), "\(text)")
    }

    @Test func ofABenchAndAServer() async throws {
        let bench = TestBench()
        let overdue = await #expect(throws: TestBench.Overdue.self) {
            try await bench.run(within: .zero) { try await Task.sleep(for: .seconds(60)) }
        }
        #expect(overdue?.localizedDescription.hasPrefix("The code has not ended within") == true)
        let failure = LoopbackServer.Failure.system(call: "bind", code: EADDRINUSE)
        #expect(failure.localizedDescription.hasPrefix("bind failed: "))
        #expect(failure.localizedDescription.contains("Address already in use"))
        #expect(LoopbackServer.Failure.stopped.localizedDescription == "\(LoopbackServer.Failure.stopped)")
    }

    /// Each says something of its own.
    @Test func ofTransportsWithoutWords() throws {
        var seen: Set<String> = []
        for fault in TransportFault.allCases where fault != .canceled {
            var configuration = SessionConfiguration()
            configuration.retryPolicy = .never
            let bench = TestBench(configuration: configuration, transport: { _ in MuteTransport(fault: fault) })
            let task = try #require(bench.manager.download("https://example.com/file"))
            bench.settle()
            #expect(task.status == .failed)
            let text = try #require(task.error).localizedDescription
            #expect(text.hasSuffix("."))
            #expect(seen.insert(text).inserted, "\(text)")
        }
    }
}

/// Fails, and does not say why.
private struct MuteTransport: Transport {
    let fault: TransportFault
    let traits = TransportTraits(delivery: .pausable)

    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        receive(.failure(TransportFailure(fault, "")))
        return EndedExchange()
    }

    func invalidate() {}
}

private final class EndedExchange: TransportExchange {
    func cancel() {}
    func pause() {}
    func resume() {}
}
