import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The delegate of a session: passes what happens to a task on to its exchange.
///
/// On Linux it is called on the queue that carries all URLSession traffic of the process. It looks at the task, and
/// calls nothing of URLSession that waits for that queue.
///
/// There is one kind for each kind of task: on Linux a delegate that takes both is handed a redirect's body as that of
/// a data task when it is a download task's, which ends the process.
// @unchecked Sendable: the only property is a lock. It is a class to inherit from, which the compiler does not check.
class SessionRelay: NSObject, @unchecked Sendable {
    private let exchanges = Locked<[Int: any TaskFollower]>([:])

    /// Must precede the task's first `resume()`.
    func connect(_ task: URLSessionTask, to exchange: any TaskFollower) {
        exchanges.withLock { $0[task.taskIdentifier] = exchange }
    }

    /// What comes for the task later is ignored.
    func disconnect(_ task: URLSessionTask) {
        exchanges.withLock { $0[task.taskIdentifier] = nil }
    }

    /// Whom to tell what happens to a task.
    func exchange(of task: URLSessionTask) -> (any TaskFollower)? {
        exchanges.withLock { $0[task.taskIdentifier] }
    }

    /// Everything that had happened while the process was away has been told.
    func finishedEvents() {}

    /// The session makes no task any more.
    func invalidated() {}
}

extension SessionRelay: URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // The proposed request is not used: on Linux its relative locations are resolved wrongly, everywhere it carries
        // all header fields to any host.
        #if canImport(Darwin)
        // nil makes the 3xx the response.
        completionHandler(nil)
        #else
        // An answer that a cancellation or a timeout overtakes kills the process, so there is none. But nothing is asked
        // before the last byte of the response: take that as the end, and have the task stopped from elsewhere.
        exchange(of: task)?.answered(by: response)
        #endif
    }

    #if !canImport(Darwin)
    // On Darwin the system judges certificates, and without a credential a 401 or 407 becomes the response. It would wake
    // an app only to ask it that.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // The default handling never ends, and canceling from here deadlocks. As with a redirect, the response is
        // complete.
        exchange(of: task)?.answered(by: challenge.failureResponse as? HTTPURLResponse)
    }
    #endif

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let exchange = exchange(of: task)
        // Nothing comes behind this.
        disconnect(task)
        exchange?.ended(error, response: task.response as? HTTPURLResponse)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        let orphans = exchanges.withLock { exchanges in
            defer { exchanges = [:] }
            return Array(exchanges.values)
        }
        for exchange in orphans { exchange.abandon(.invalidated) }
        invalidated()
    }

    #if canImport(Darwin)
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        finishedEvents()
    }
    #endif
}

/// The delegate of data tasks.
final class DataRelay: SessionRelay, URLSessionDataDelegate, @unchecked Sendable {
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { exchange(of: dataTask)?.took(response: response) }
        // Linux ignores the answer, so a response nobody wants is stopped by canceling the task.
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.took(data: data)
    }
}

/// The delegate of download tasks.
class DownloadRelay: SessionRelay, URLSessionDownloadDelegate, @unchecked Sendable {
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        exchange(of: downloadTask)?.took(file: location, response: downloadTask.response as? HTTPURLResponse)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        guard let response = downloadTask.response as? HTTPURLResponse else { return }
        exchange(of: downloadTask)?.took(written: totalBytesWritten, response: response)
    }

    /// What the resume data stand for, before the first new byte, and mostly before the answer. Never called on Linux.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        exchange(of: downloadTask)?.took(offset: fileOffset, response: downloadTask.response as? HTTPURLResponse)
    }
}

extension OperationQueue {
    /// The queue a session calls its delegate on.
    static func delivery() -> OperationQueue {
        #if canImport(Darwin)
        let queue = OperationQueue()
        queue.name = "lanner.transport.delegate"
        queue.maxConcurrentOperationCount = 1
        return queue
        #else
        return InlineQueue()
        #endif
    }
}

#if !canImport(Darwin)
/// Calls the delegate where URLSession stands.
///
/// An ordinary queue costs half the throughput, holds any number of pieces, and opens a gap between a task's end and
/// its last callback in which canceling it kills the process. Here that end and a cancellation exclude each other.
final class InlineQueue: OperationQueue, @unchecked Sendable {
    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        block()
    }
}
#endif
