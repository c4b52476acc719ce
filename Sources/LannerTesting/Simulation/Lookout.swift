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
        look(at: transport)
        let (now, configuration) = (manager.runningCount, manager.configuration)
        let limit = configuration.maxConcurrentTasksLimit
        let before = seen.withLock { seen in
            defer { seen.running = now }
            return seen.running
        }
        if now > before, now > limit { journal.report(.limit, "\(now) run, \(limit) may") }
        lookAtHosts(of: manager, now, configuration.maxConcurrentTasksPerHost)
    }

    private func lookAtHosts(of manager: SessionManager, _ running: Int, _ limit: Int?) {
        // So few cannot be too many of any host.
        let now = limit.map { running > $0 ? manager.openFilesByHost : [:] }
        let before = seen.withLock { seen in
            defer { seen.files = now }
            return seen.files
        }
        guard let limit, let now, let before else { return }
        for (host, count) in now where count > before[host] ?? 0 && count > limit {
            journal.report(.limit, "\(count) of \(host) run, \(limit) may")
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

    private func look(at transport: ScriptedTransport) {
        let requests = transport.requests
        for request in requests[seen.withLock { $0.requests }...] { look(at: request) }
        seen.withLock { $0.requests = requests.count }
        if requests.count > 256 {
            transport.clearRequests()
            seen.withLock { $0.requests = 0 }
        }
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
