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
        /// The list of each download, and who had a slot or a part of one.
        var lists: [DownloadID: String?] = [:]
        var inSlots: Set<DownloadID> = []
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
        let inSlots = manager.running
        let older = before.older.intersection(inSlots)
        seen.withLock { ($0.older, $0.inSlots) = (older, inSlots) }
        lookAtLists(of: manager, inSlots, before)
        guard let perHost else { return }
        for (host, ids) in manager.openFilesByHost where ids.count > perHost && !older.isSuperset(of: ids) {
            chronicle.report(.limit, "\(ids.count) of \(host) run, \(perHost) may")
        }
    }

    /// Nobody begins in a list that is full. Who has changed lists since the last look may have done so after that, or
    /// after another has begun. What an earlier process was moving, and goes on at the launch, may have done so then.
    private func lookAtLists(of manager: SessionManager, _ inSlots: Set<DownloadID>, _ before: Seen) {
        let lists = lists(of: manager)
        seen.withLock { $0.lists = lists }
        let ids = inSlots.filter { before.lists[$0] == nil || before.lists[$0] == lists[$0] }
        let configuration = manager.configuration
        let new = ids.subtracting(before.inSlots)
        if new.isEmpty { return }
        let begun = manager.allTasks.filter { new.contains($0.id) && manager.place(of: $0)?.isPublishing != true }
        for list in Set(begun.compactMap { lists[$0.id] ?? nil }).sorted() {
            let limit = max(1, configuration.listLimits[list] ?? configuration.standardListLimit)
            let count = ids.count { lists[$0] == list }
            if count > limit { chronicle.report(.limit, "\(count) of the list \(list) run, \(limit) may") }
        }
    }

    /// Other limits follow: what runs now may go on, as may what was reported before, and lets others run by the old ones.
    func lookBeforeOtherLimits(at manager: SessionManager, _ transport: ScriptedTransport) {
        manager.takeReports()
        look(at: manager, transport)
        seen.withLock { $0.older = manager.running }
    }

    private func lists(of manager: SessionManager) -> [DownloadID: String?] {
        Dictionary(manager.allTasks.map { ($0.id, $0.list) }, uniquingKeysWith: { $1 })
    }

    /// A manager that is new runs nothing yet.
    func begin(with manager: SessionManager) {
        let lists = lists(of: manager)
        seen.withLock { $0 = Seen(requests: $0.requests, lists: lists) }
    }

    private func forgetRequests(of transport: ScriptedTransport) {
        transport.clearRequests()
        seen.withLock { $0.requests = 0 }
    }

    /// S4.
    private func look(at request: TransportRequest) {
        chronicle.note(
            "request", text: "\(request.url) \(request.fields["Range"] ?? "whole") \(request.fields["If-Range"] ?? "")")
        let own = Self.secrets(for: request.url)
        for (name, secret) in own.sorted(by: { $0.key < $1.key }) {
            guard let sent = request.fields[name], sent != secret else { continue }
            chronicle.report(.credentials, "\(request.url) was sent \(name): \(sent)")
        }
    }

    /// Fields that are for one origin alone, as they tell.
    static func secrets(for url: URL) -> [String: String] {
        let scheme = url.scheme ?? ""
        let origin = "\(scheme)://\(url.host ?? ""):\(url.port ?? (scheme == "https" ? 443 : 80))"
        return ["Authorization": "for \(origin)", "Cookie": "of=\(origin)", "X-Key": "key of \(origin)"]
    }
}

extension Coverage.Place {
    fileprivate var isPublishing: Bool {
        switch self {
        case .announcing, .moving, .readdressing, .recording, .waitingToRecord, .disowning: true
        case _: false
        }
    }
}
