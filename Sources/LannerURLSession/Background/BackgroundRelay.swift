import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Knows tasks by their description, which is all that is left of them in another process.
final class BackgroundRelay: DownloadRelay, @unchecked Sendable {
    private let find: @Sendable (URLSessionTask) -> BackgroundExchange?
    private let finished: @Sendable () -> Void
    private let ended: @Sendable () -> Void

    init(
        find: @escaping @Sendable (URLSessionTask) -> BackgroundExchange?, finished: @escaping @Sendable () -> Void,
        ended: @escaping @Sendable () -> Void
    ) {
        self.find = find
        self.finished = finished
        self.ended = ended
    }

    override func exchange(of task: URLSessionTask) -> (any TaskFollower)? {
        find(task)
    }

    override func finishedEvents() {
        finished()
    }

    override func invalidated() {
        ended()
    }
}
