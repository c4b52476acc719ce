import Foundation
import LannerMachine

// What the machine wants of whoever gives links. For each task one call is out at most: a second waits for the end of the
// first, which was canceled by then.

/// A call for a link that is out.
struct LinkCall {
    /// What the machine wants when it is over.
    struct Wish {
        var attempt: Attempt
        var reason: LinkReason
    }

    /// The attempt that it is for; none asks twice.
    let attempt: Attempt
    /// Ends it; nil while it is only beginning.
    var cancel: (@Sendable () -> Void)?
    var isCanceled = false
    var next: Wish?
}

extension Engine {
    func run(_ action: LinkAction, of job: Job, _ attempt: Attempt) {
        switch action {
        case .ask(let reason): ask(job, LinkCall.Wish(attempt: attempt, reason: reason))
        case .cancel: cancelAsking(job)
        }
    }

    private func ask(_ job: Job, _ wish: LinkCall.Wish) {
        let isFree = job.state.withLock { state in
            if state.linkCall != nil {
                state.linkCall?.next = wish
                return false
            }
            state.linkCall = LinkCall(attempt: wish.attempt)
            return true
        }
        if isFree { call(job, wish) }
    }

    private func call(_ job: Job, _ wish: LinkCall.Wish) {
        guard let links = environment.links, !isOver else { return }
        log { .downloadTask("asks for another link (\(wish.reason))", task: job.task) }
        let url = job.state.withLock { $0.link?.url ?? $0.attempted.url }
        let request = DownloadLink.Request(task: job.task, url: url, reason: wish.reason)
        let cancel = links.ask(request) { [weak self] result in self?.answered(job, wish.attempt, result) }
        let isUnwanted = job.state.withLock { state in
            // Or it is over by now, and another one out.
            guard state.linkCall?.attempt == wish.attempt else { return false }
            state.linkCall?.cancel = cancel
            return state.linkCall?.isCanceled == true
        }
        if isUnwanted { cancel() }
    }

    func cancelAsking(_ job: Job) {
        let cancel = job.state.withLock { state in
            state.linkCall?.isCanceled = true
            state.linkCall?.next = nil
            return state.linkCall?.cancel
        }
        cancel?()
    }

    private func answered(_ job: Job, _ attempt: Attempt, _ result: Result<DownloadLink?, any Error>) {
        let next = job.state.withLock { state in
            let next = state.linkCall?.next
            state.linkCall = next.map { LinkCall(attempt: $0.attempt) }
            return next
        }
        // Not under the lock: a user's error says in its own code what it is.
        let answer = LinkAnswer(result, for: Destination.redacted(job.task.url.absoluteString))
        enter { state in
            // A late one changes nothing; the machine has that logged.
            let isWanted = state.machine[job.id]?.isAsking(in: attempt) == true
            return [.link(job.id, attempt, isWanted ? job.take(answer) : answer.unused)]
        }
        if let next { call(job, next) }
    }
}

/// What has become of a call.
private enum LinkAnswer {
    case link(DownloadLink)
    case none(DownloadFailure)
    case failed(DownloadFailure)

    init(_ result: Result<DownloadLink?, any Error>, for url: String) {
        switch result {
        case .success(let link?): self = .link(link)
        case .success(nil): self = .none(DownloadFailure(.link, "There is no other link for \(url)."))
        case .failure(let error as DownloadLink.Unavailable):
            self = .none(DownloadFailure(.link, "There is no other link for \(url): \(error.message)"))
        case .failure(let error):
            // Not the whole error, which may hold a link.
            let text = error.localizedDescription
            self = .failed(DownloadFailure(.link, "The provider of links failed for \(url): \(text)"))
        }
    }

    /// What the machine is told of it when it comes too late.
    var unused: LinkEvent {
        switch self {
        case .link: .given(isOther: false, expires: nil)
        case .none(let failure): .none(failure)
        case .failed(let failure): .failed(failure)
        }
    }
}

extension Job {
    /// Keeps a link that was given.
    fileprivate func take(_ answer: LinkAnswer) -> LinkEvent {
        switch answer {
        case .link(let link): keep(link)
        case .none(let failure): .none(failure)
        case .failed(let failure): .failed(failure)
        }
    }

    private func keep(_ link: DownloadLink) -> LinkEvent {
        let (before, address) = state.withLock { ($0.link, $0.attempted) }
        let kept = KeptLink(link, after: before, of: address.url)
        do throws(DownloadFailure) {
            // Looked over before it is kept.
            let destination = try Destination(kept, url: address.url, fields: address.fields)
            state.withLock { state in
                state.destination = destination
                // One for a URL that the download has no longer serves this attempt only.
                guard state.address == address, state.coming.isEmpty else { return }
                (state.link, state.linkExpirationDate) = (kept, link.expirationDate)
            }
        } catch {
            return .none(DownloadFailure(.link, "The link that was given cannot be used: \(error.detail)"))
        }
        let isOther = kept != before ?? KeptLink(url: address.url)
        return .given(isOther: isOther, expires: link.expirationDate?.wholeSeconds)
    }
}

extension KeptLink {
    /// Without a URL it leads to where the one before led; the fields of that one belong there, too.
    fileprivate init(_ link: DownloadLink, after before: KeptLink?, of url: URL) {
        self.url = link.url?.absoluteURL ?? before?.url ?? url
        fields = link.headers.map { HeaderFields(of: $0) } ?? (link.url == nil ? before?.fields : nil)
    }
}

extension HeaderFields {
    /// From a dictionary, in the order of the names.
    init(of headers: [String: String]) {
        self.init(headers.sorted { $0.key < $1.key }.map { Field(name: $0.key, value: $0.value) })
    }
}

extension Date {
    /// For the machine, which counts in whole seconds.
    var wholeSeconds: Int64 { Int64(rounding: timeIntervalSince1970) }
}
