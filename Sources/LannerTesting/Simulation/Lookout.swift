import Foundation
import LannerCore
import LannerMachine

/// Looks at a manager and at its transport after everything that happens, also in the middle of something else.
final class Lookout: Sendable {
    private struct Seen {
        var requests = 0
        var running = 0
        /// Who has run since before the limits were changed: they may go on, also those whose file is yet to be opened.
        var older: Set<DownloadID> = []
    }

    private let chronicle: Chronicle
    private let seen = Locked(Seen())

    init(_ chronicle: Chronicle) {
        self.chronicle = chronicle
    }

    func look(at manager: SessionManager, _ transport: ScriptedTransport) {
        let requests = transport.requests
        let (running, configuration) = (manager.heldSlots, manager.configuration)
        let perHost = configuration.maxConcurrentTasksPerHost
        let before = seen.withLock { seen in
            defer { (seen.requests, seen.running) = (requests.count, running) }
            return seen
        }
        for request in requests[before.requests...] { look(at: request) }
        if requests.count > 256 { forgetRequests(of: transport) }
        let limit = configuration.maxConcurrentTasksLimit
        if running > before.running, running > limit { chronicle.report(.limit, "\(running) run, \(limit) may") }
        let older = before.older.isEmpty ? [] : before.older.intersection(manager.running)
        seen.withLock { $0.older = older }
        guard let perHost else { return }
        for (host, ids) in manager.openFilesByHost where ids.count > perHost && !older.isSuperset(of: ids) {
            chronicle.report(.limit, "\(ids.count) of \(host) run, \(perHost) may")
        }
    }

    /// Other limits follow: what runs now may go on, as may what was reported before, and lets others run by the old ones.
    func lookBeforeOtherLimits(at manager: SessionManager, _ transport: ScriptedTransport) {
        manager.takeReports()
        look(at: manager, transport)
        seen.withLock { $0.older = manager.running }
    }

    /// A manager that is new runs nothing yet.
    func begin() {
        seen.withLock { ($0.running, $0.older) = (0, []) }
    }

    private func forgetRequests(of transport: ScriptedTransport) {
        transport.clearRequests()
        seen.withLock { $0.requests = 0 }
    }

    /// S4.
    private func look(at request: TransportRequest) {
        chronicle.note(
            "request", text: "\(request.url) \(request.fields["Range"] ?? "whole") \(request.fields["If-Range"] ?? "")")
        guard let credential = request.fields["Authorization"] else { return }
        if credential != "for \(request.url.host ?? "")" {
            chronicle.report(.credentials, "\(request.url) was sent what is \(credential)")
        }
    }
}
