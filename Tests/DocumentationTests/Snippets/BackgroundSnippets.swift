import Foundation
import Lanner
import LannerTesting

#if canImport(UIKit) && !os(watchOS)
import UIKit
#endif

// The Swift code of `Docs/Background downloads.md`, word for word and compiled. `SnippetTests` compares the two.

#if !canImport(UIKit) || os(watchOS)
/// Stands where UIKit's does.
final class UIApplication {}
#endif

@MainActor private final class AppDelegate {
    // snippet: app delegate
    let sessionManager = SessionManager("downloads")

    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        if sessionManager.identifier == identifier {
            sessionManager.completionHandler = completionHandler
        }
    }
    // end
}

#if canImport(Darwin)
private func trustingRedirects(_ outcomes: URL) -> SessionManager {
    // snippet: redirects
    let transport = URLSessionBackgroundTransport(identifier: "downloads", directory: outcomes, trustsRedirects: true)
    let manager = SessionManager("downloads", transport: transport)
    // end
    return manager
}
#endif

func forceQuit(_ bytes: [UInt8]) -> TestBench {
    // snippet: force quit
    let traits = TransportTraits(delivery: .file, hasResumeData: true, outlivesProcess: true)
    let bench = TestBench(traits: traits)
    bench.transport.serve(.init(bytes), at: "/file.zip")
    bench.transport.script("/file.zip", .stall(afterBytes: 1000))
    bench.manager.download("https://example.com/file.zip")
    bench.settle()
    bench.relaunch { bench.transport.forceQuit() }
    bench.settle()  // the task is suspended, and has 1000 bytes
    // end
    return bench
}
