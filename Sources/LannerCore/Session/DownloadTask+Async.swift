import Foundation

extension DownloadTask {
    /// Waits for the finished file.
    ///
    /// A task that is at rest is not started by this: it returns or throws at once. Canceling the Swift task that waits
    /// suspends the download.
    ///
    /// - Throws: The task's ``error`` when it fails; `CancellationError` when it is suspended, canceled or removed, or the
    ///   manager is invalidated.
    public var file: URL {
        get async throws {
            try await withTaskCancellationHandler {
                for await event in events {
                    guard case .status(let status) = event, status.isAtRest else { continue }
                    return try result(of: status)
                }
                throw CancellationError()
            } onCancel: {
                manager?.suspend(self)
            }
        }
    }

    private func result(of status: Status) throws -> URL {
        switch status {
        case .succeeded: return URL(fileURLWithPath: filePath)
        case .failed: throw error ?? state.withLock { $0.lastFailure } ?? CancellationError()
        case .suspended, .canceled, .removed, .waiting, .running, .willSuspend, .willCancel, .willRemove:
            throw CancellationError()
        }
    }
}
