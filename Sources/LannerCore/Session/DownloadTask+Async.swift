import Foundation

extension DownloadTask {
    /// Waits for the finished file.
    ///
    /// A task that is at rest is not started by this: it returns or throws at once. When the Swift task that waits is
    /// canceled, and no other waits for the file as well, the download is suspended soon, unless somebody starts it, or
    /// waits for the file, before that.
    ///
    /// - Throws: The task's ``error`` when it fails; ``LannerError/failed(_:)`` for ``DiskFault/notFound`` when it has
    ///   succeeded, and somebody has taken the file away since, or another task has replaced it;
    ///   ``LannerError/notFinished(_:)`` when somebody suspends, cancels or removes it; ``LannerError/invalidated`` when the
    ///   manager is invalidated or gone before the task is at rest; `CancellationError` when the Swift task that waits is
    ///   canceled.
    public var file: URL {
        get async throws {
            let waiter = FileWaiter()
            state.withLock { state in
                state.fileWaiters.insert(waiter)
                state.isUnwanted = false
            }
            return try await withTaskCancellationHandler {
                defer { state.withLock { _ = $0.fileWaiters.remove(waiter) } }
                for await event in events {
                    guard case .status(let status) = event, status.isAtRest else { continue }
                    return try result(of: status)
                }
                throw Task.isCancelled ? CancellationError() : LannerError.invalidated
            } onCancel: {
                let isLast = state.withLock { state in
                    guard state.fileWaiters.remove(waiter) != nil, state.fileWaiters.isEmpty else { return false }
                    state.isUnwanted = true
                    return true
                }
                if isLast { suspendSoon() }
            }
        }
    }

    /// Not inside the cancellation, which may come under a lock of whoever cancels.
    private func suspendSoon() {
        guard let engine else { return }
        engine.environment.lanes.makeLane("cancellation").run { [self] in engine.suspendIfUnwanted(self) }
    }

    private func result(of status: Status) throws -> URL {
        switch status {
        case .succeeded:
            guard engine?.hasFile(of: self) ?? cache.disk.mayHaveFile(at: filePath) else {
                throw LannerError.failed(.gone(filePath))
            }
            return URL(fileURLWithPath: filePath)
        case .failed: throw error ?? state.withLock { $0.lastFailure } ?? LannerError.notFinished(status)
        case .suspended, .canceled, .removed, .waiting, .running, .willSuspend, .willCancel, .willRemove:
            throw Task.isCancelled ? CancellationError() : LannerError.notFinished(status)
        }
    }
}

extension DownloadFailure {
    fileprivate static func gone(_ path: String) -> DownloadFailure {
        DownloadFailure(
            .disk(.notFound), "The file at \(path) was removed, or is another task's; ask for the download again.")
    }
}

/// Who waits for a file; each is another.
final class FileWaiter: Hashable, Sendable {
    static func == (one: FileWaiter, other: FileWaiter) -> Bool { one === other }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
