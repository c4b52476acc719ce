import Foundation
import LannerMachine

/// Another link to the file of a task: for URLs that are signed, that expire, or that are only known when they are needed.
///
/// ```swift
/// let manager = SessionManager("podcasts", transport: transport) { request in
///     DownloadLink(url: try await signedURL(for: request.task.url))
/// }
/// ```
///
/// The task stays known by its own URL. What is there of its file is kept, and goes on from there if the new place has the
/// same file, by its validators or its digest.
public struct DownloadLink: Sendable, Hashable {
    /// Where the file is; nil for where the last link led.
    public var url: URL?
    /// The header fields for the origin of ``url``, in place of all others; sent to no other origin, but for `Accept`,
    /// `Accept-Language` and `User-Agent`. Nil for those of the task: all of them within the origin of its own URL,
    /// else these three.
    public var headers: [String: String]?
    /// When its time is over; nil when that is not known. From then on another is asked for before an attempt begins.
    public var expirationDate: Date?

    /// Makes a link.
    public init(url: URL? = nil, headers: [String: String]? = nil, expirationDate: Date? = nil) {
        self.url = url
        self.headers = headers
        self.expirationDate = expirationDate
    }

    /// Gives links, called for one task at most once at a time, on no particular thread and under no lock.
    ///
    /// Asked between the start of an attempt and its first request: when the server has refused the link in hand with 400,
    /// 401, 403 or 410, when that has expired, and with ``SessionConfiguration/refreshesLinksBeforeStart`` always. After a
    /// refusal once: when the server refuses what was given, too, without a byte in between, the task fails with that
    /// status. The task holds its slot meanwhile.
    ///
    /// Return nil where there is no other link, or throw ``Unavailable`` to say why; one that cannot be used counts as nil.
    /// Then only the mirrors of the task are asked, and without any it fails
    /// (``DownloadFailure/Reason-swift.enum/link``). After any other error, of which the failure has the
    /// `localizedDescription`, and after no answer for ``SessionConfiguration/timeoutIntervalForRequest``, the retry policy
    /// decides. When the answer is not wanted any more, the Swift task is canceled and whatever comes is left aside; the
    /// manager waits for it only to ask for the same task again.
    public typealias Provider = @Sendable (Request) async throws -> DownloadLink?

    /// What a provider throws where there is no other link and will be none, so that nobody asks again by himself.
    public struct Unavailable: Error, Sendable, Hashable {
        /// Why, for a person: "This episode was withdrawn." It is part of what the task's failure says.
        public var message: String

        /// Says why.
        public init(_ message: String) {
            self.message = message
        }
    }

    /// What a link is asked for.
    public struct Request: Sendable {
        /// The task; ``DownloadTask/url`` says which it is.
        public let task: DownloadTask
        /// Where the link in hand leads.
        public let url: URL
        /// Why another is wanted.
        public let reason: LinkReason
    }
}

extension DownloadLink.Unavailable: LocalizedError, CustomStringConvertible {
    /// The ``message``.
    public var errorDescription: String? { message }
    /// The ``message``.
    public var description: String { message }
}

/// Where links come from.
package protocol LinkSource: Sendable {
    /// Asks for a link. `answer` is called once, on any thread, inside this call or later, unless the process ends before.
    /// What is returned says that nobody wants the answer any more.
    func ask(
        _ request: DownloadLink.Request, _ answer: @escaping @Sendable (Result<DownloadLink?, any Error>) -> Void
    ) -> @Sendable () -> Void
}

/// Links from a user's provider.
package struct ProvidedLinks: LinkSource {
    private let provider: DownloadLink.Provider
    /// Answers come here: what follows from them may wait for a disk, and Swift's own threads are few.
    private let lane: any Lane

    package init(_ provider: @escaping DownloadLink.Provider, on lane: any Lane = PooledLane("links")) {
        (self.provider, self.lane) = (provider, lane)
    }

    package func ask(
        _ request: DownloadLink.Request, _ answer: @escaping @Sendable (Result<DownloadLink?, any Error>) -> Void
    ) -> @Sendable () -> Void {
        let task = Task { [provider, lane] in
            let result: Result<DownloadLink?, any Error>
            do { result = .success(try await provider(request)) } catch { result = .failure(error) }
            lane.run { answer(result) }
        }
        return { task.cancel() }
    }
}

/// The link that a task was given last: where it leads, and the fields that came with it.
struct KeptLink: Sendable, Equatable {
    var url: URL
    /// Nil for those of the task.
    var fields: HeaderFields?
}
