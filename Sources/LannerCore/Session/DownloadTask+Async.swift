import Foundation

extension DownloadTask {
    /// Waits for the finished file.
    ///
    /// A task that is at rest is not started by this: it returns or throws at once. When the Swift task that waits is
    /// canceled, and no other waits for the file as well, the download is suspended soon.
    ///
    /// - Throws: The task's ``error`` when it fails; ``LannerError/notFinished(_:)`` when somebody suspends, cancels or
    ///   removes it; ``LannerError/invalidated`` when the manager is invalidated or gone; `CancellationError` when the
    ///   Swift task that waits is canceled.
    public var file: URL {
        get async throws {
            let waiter = FileWaiter()
            state.withLock { _ = $0.fileWaiters.insert(waiter) }
            return try await withTaskCancellationHandler {
                defer { state.withLock { _ = $0.fileWaiters.remove(waiter) } }
                for await event in events {
                    guard case .status(let status) = event, status.isAtRest else { continue }
                    return try result(of: status)
                }
                throw Task.isCancelled ? CancellationError() : LannerError.invalidated
            } onCancel: {
                let isLast = state.withLock { $0.fileWaiters.remove(waiter) != nil && $0.fileWaiters.isEmpty }
                if isLast { suspendSoon() }
            }
        }
    }

    /// Not inside the cancellation, which may come under a lock of whoever cancels.
    private func suspendSoon() {
        engine?.environment.lanes.makeLane("cancellation").run { [self] in
            if state.withLock({ $0.fileWaiters.isEmpty }) { manager?.suspend(self) }
        }
    }

    private func result(of status: Status) throws -> URL {
        switch status {
        case .succeeded: return URL(fileURLWithPath: filePath)
        case .failed: throw error ?? state.withLock { $0.lastFailure } ?? LannerError.notFinished(status)
        case .suspended, .canceled, .removed, .waiting, .running, .willSuspend, .willCancel, .willRemove:
            throw Task.isCancelled ? CancellationError() : LannerError.notFinished(status)
        }
    }
}

/// Who waits for a file; each is another.
final class FileWaiter: Hashable, Sendable {
    static func == (one: FileWaiter, other: FileWaiter) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
