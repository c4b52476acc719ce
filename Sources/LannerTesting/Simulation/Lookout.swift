import Foundation
import LannerCore

/// Looks at a manager and at its transport after everything that happens, also in the middle of something else.
final class Lookout: Sendable {
    private struct Seen {
        var requests = 0
        var running = 0
        /// By host, as long as that is limited.
        var files: [String: Int]?
    }

    private let journal: Journal
    private let seen = Locked(Seen())

    init(_ journal: Journal) {
        self.journal = journal
    }

    func look(at manager: SessionManager, _ transport: ScriptedTransport) {
        let requests = transport.requests
        let (running, configuration) = (manager.heldSlots, manager.configuration)
        let perHost = configuration.maxConcurrentTasksPerHost
        // So few cannot be too many of any host.
        let files = perHost.map { running > $0 ? manager.openFilesByHost : [:] }
        let before = seen.withLock { seen in
            defer { seen = Seen(requests: requests.count, running: running, files: files) }
            return seen
        }
        for request in requests[before.requests...] { look(at: request) }
        if requests.count > 256 { forgetRequests(of: transport) }
        let limit = configuration.maxConcurrentTasksLimit
        if running > before.running, running > limit { journal.report(.limit, "\(running) run, \(limit) may") }
        guard let perHost, let files, let old = before.files else { return }
        for (host, count) in files where count > old[host] ?? 0 && count > perHost {
            journal.report(.limit, "\(count) of \(host) run, \(perHost) may")
        }
    }

    /// Other limits follow: what runs now may go on.
    func lookBeforeOtherLimits(at manager: SessionManager, _ transport: ScriptedTransport) {
        look(at: manager, transport)
        seen.withLock { $0.files = manager.openFilesByHost }
    }

    /// A manager that is new runs nothing yet.
    func begin() {
        seen.withLock { ($0.running, $0.files) = (0, [:]) }
    }

    private func forgetRequests(of transport: ScriptedTransport) {
        transport.clearRequests()
        seen.withLock { $0.requests = 0 }
    }

    /// S4.
    private func look(at request: TransportRequest) {
        journal.note(
            "request", text: "\(request.url) \(request.fields["Range"] ?? "whole") \(request.fields["If-Range"] ?? "")")
        guard let credential = request.fields["Authorization"] else { return }
        if credential != "for \(request.url.host ?? "")" {
            journal.report(.credentials, "\(request.url) was sent what is \(credential)")
        }
    }
}
