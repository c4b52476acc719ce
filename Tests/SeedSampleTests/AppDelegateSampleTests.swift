import Foundation
import Lanner
import LannerTesting
import Testing

#if canImport(UIKit) && !os(watchOS)
import UIKit

/// The app delegate as Tiercel's texts show it.
final class SampleAppDelegate: UIResponder, UIApplicationDelegate {
    // can't use lazy loading
    var sessionManager: SessionManager = {
        var configuration = SessionConfiguration()
        configuration.allowsCellularAccess = true
        let manager = SessionManager(
            "default", configuration: configuration,
            operationQueue: DispatchQueue(label: "com.Tiercel.SessionManager.operationQueue"))
        return manager
    }()

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        return true
    }

    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        if sessionManager.identifier == identifier {
            sessionManager.completionHandler = completionHandler
        }
    }
}
#endif

/// The same where there is no UIKit: what the delegate calls.
final class BackgroundLaunch {
    let sessionManager: SessionManager

    init(_ sessionManager: SessionManager) {
        self.sessionManager = sessionManager
    }

    func handleEvents(forBackgroundURLSession identifier: String, completionHandler: @escaping () -> Void) {
        if sessionManager.identifier == identifier {
            sessionManager.completionHandler = completionHandler
        }
    }
}

@Suite struct AppDelegateSampleTests {
    @Test("T3-24: the app delegate hands its handler over") func handsItsHandlerOver() {
        let traits = TransportTraits(delivery: .file, hasResumeData: true, outlivesProcess: true)
        let bench = TestBench(traits: traits)
        bench.transport.serve(.init([1, 2, 3]), at: "/file")
        bench.transport.script("/file", .hold)
        bench.manager.download("https://example.com/file")
        bench.settle()
        bench.relaunch { bench.transport.release() }
        let launch = BackgroundLaunch(bench.manager)
        var calls: [Status?] = []
        launch.handleEvents(forBackgroundURLSession: "another") { calls.append(nil) }
        launch.handleEvents(forBackgroundURLSession: bench.manager.identifier) {
            calls.append(bench.manager.tasks.first?.status)
        }
        #expect(launch.sessionManager.completionHandler != nil)
        bench.settle()
        #expect(calls == [.succeeded])
        #expect(launch.sessionManager.completionHandler == nil)
    }
}
