import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Carries out exchanges with the download tasks of a background session: the system goes on with them while the app is
/// suspended, has crashed or was ended by the system, and wakes it when they are done. The default on iOS, tvOS, watchOS
/// and visionOS.
///
/// What has ended while nobody was there is kept in a directory until the manager has taken it in.
///
/// ### What the system does differently
/// - **It follows redirects by itself**, and sends a request's header fields wherever they lead. So requests with fields
///   of the caller's run in a session of the foreground, which ends with the process, unless the transport was made with
///   `trustsRedirects`, or everybody may see the fields: `Accept`, `Accept-Encoding`, `Accept-Language`, `User-Agent`.
/// - It waits for a network by itself, and goes on after a connection was lost: the manager keeps no timers of its own and
///   stops nothing for want of a network. What tasks may use is fixed when their request goes out.
/// - A user who closes the app by hand ends all: tasks come back suspended, with their bytes.
/// - It wakes the app when all of a session's tasks have ended, not for each of them: a manager that runs few at once has
///   the others wait for that.
public final class URLSessionBackgroundTransport: Transport {
    /// Whole files, resume data, and exchanges that outlive the process.
    public let traits = TransportTraits(delivery: .file, hasResumeData: true, outlivesProcess: true)

    private let rules: RequestRules
    private let session: BackgroundSession
    private let owner: BackgroundSession.Owner
    /// For what is not to outlive the process.
    private let foreground: URLSessionDownloadTransport
    private let trustsRedirects: Bool
    private let state = Locked(State())

    private struct State {
        var isInvalidated = false
        var lastNumber = 0
        var attendances: [Int: (name: String, attendance: Attendance)] = [:]
    }

    #if canImport(Darwin)
    /// Makes a transport over the background session of an identifier. The session stays until the process ends: its
    /// directory and its limit of connections are those of the first transport of the identifier.
    ///
    /// - Parameters:
    ///   - identifier: Names the session in the app: what the system hands to
    ///     `application(_:handleEventsForBackgroundURLSession:completionHandler:)`. One manager has it at a time: until
    ///     it is invalidated the requests of another fail with ``TransportFault/unavailable``.
    ///   - directory: Where outcomes are kept, its own; on the volume of the app's temporary files if possible.
    ///   - trustsRedirects: Whether requests with header fields of the caller's go into the background, too, that not
    ///     everybody may see. True only where servers redirect to nobody who must not see them.
    ///   - configuration: What may be chosen.
    public convenience init(
        identifier: String, directory: URL, trustsRedirects: Bool = false,
        configuration: URLSessionTransport.Options = URLSessionTransport.Options()
    ) {
        let connections = max(1, configuration.connectionsPerHost)
        let session = BackgroundSession.shared(identifier, directory: directory) {
            .background(identifier, connectionsPerHost: connections)
        }
        self.init(over: session, trustsRedirects: trustsRedirects, configuration: configuration)
    }
    #else
    /// There are no background sessions here: use ``URLSessionTransport``.
    @available(*, unavailable, message: "There are no background sessions here: use URLSessionTransport.")
    public convenience init(
        identifier: String, directory: URL, trustsRedirects: Bool = false,
        configuration: URLSessionTransport.Options = URLSessionTransport.Options()
    ) {
        self.init(
            foregroundSession: identifier, directory: directory, trustsRedirects: trustsRedirects,
            configuration: configuration)
    }
    #endif

    /// The same over a session that ends with the process, to try all but that.
    convenience init(
        foregroundSession identifier: String, directory: URL, trustsRedirects: Bool = false,
        configuration: URLSessionTransport.Options = URLSessionTransport.Options()
    ) {
        let connections = max(1, configuration.connectionsPerHost)
        let session = BackgroundSession.shared(identifier, directory: directory) {
            .quiet(connectionsPerHost: connections)
        }
        self.init(over: session, trustsRedirects: trustsRedirects, configuration: configuration)
    }

    private init(over session: BackgroundSession, trustsRedirects: Bool, configuration: URLSessionTransport.Options) {
        rules = RequestRules(userAgent: configuration.userAgent)
        self.session = session
        owner = session.makeOwner()
        self.trustsRedirects = trustsRedirects
        foreground = URLSessionDownloadTransport(configuration: configuration)
    }

    deinit {
        invalidate()
    }

    /// Begins one GET, or takes up the one that has its name; see ``Transport/begin(_:receive:)``. One without a name ends
    /// with the process.
    public func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        guard let name = request.name, OutcomeShelf.isName(name) else {
            return foreground.begin(request, receive: receive)
        }
        guard trustsRedirects || request.isAnonymous else {
            return takeUp(name, receive) { [foreground] in foreground.begin(request, receive: receive) }
        }
        do {
            return attend(try rules.request(for: request), request.resumeData, name, receive)
        } catch {
            return takeUp(name, receive) { RefusedExchange(error, receive: receive) }
        }
    }

    /// Takes up what was left under a name, whatever is asked for: redirects may have led to where the header fields do not
    /// go. Begins something else where nothing is left.
    private func takeUp(
        _ name: String, _ receive: @escaping @Sendable (TransportEvent) -> Void,
        orBegin other: @escaping @Sendable () -> any TransportExchange
    ) -> any TransportExchange {
        let isKnown = session.isKnown(name)
        if isKnown == false { return other() }
        // One that may yet turn out to end with the process is stopped with the manager, and leaves its bytes.
        let exchange = LateExchange(outlivesProcess: isKnown == true)
        session.whenKnown(name) { isThere in exchange.begin(isThere ? self.attend(nil, nil, name, receive) : other()) }
        return exchange
    }

    /// Without a request there is only something to be taken up.
    private func attend(
        _ request: URLRequest?, _ resumeData: Data?, _ name: String,
        _ receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let attendance = Attendance { [weak self] event in
            if event.isLast { self?.state.withLock { _ = $0.attendances.removeValue(forKey: number) } }
            receive(event)
        } canceling: { [session] in
            session.cancel(name, for: $0)
        }
        let isOpen = state.withLock { state in
            if !state.isInvalidated { state.attendances[number] = (name, attendance) }
            return !state.isInvalidated
        }
        if isOpen {
            session.begin(request, resumeData: resumeData, name: name, of: owner, for: attendance)
        } else {
            attendance.mailbox.abandon(.invalidated)
        }
        return attendance
    }

    /// Tells what earlier processes have left. See ``Transport/recover(_:)``.
    public func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void) {
        if !state.withLock({ $0.isInvalidated }) { session.recover(for: owner, report) }
    }

    /// Ends an exchange, and forgets it. See ``Transport/discard(_:)``.
    public func discard(_ name: String) {
        session.discard(name, of: owner)
    }

    /// Leaves the exchanges to the next transport of the identifier; those without a name end.
    public func invalidate() {
        let attendances = state.withLock { state in
            defer { (state.isInvalidated, state.attendances) = (true, [:]) }
            return state.isInvalidated ? nil : Array(state.attendances.values)
        }
        guard let attendances else { return }
        session.stopListening(owner)
        for (name, attendance) in attendances { session.leave(name, attendance) }
        foreground.invalidate()
    }
}

extension TransportEvent {
    fileprivate var isLast: Bool {
        switch self {
        case .end, .failure: true
        case .head, .bytes, .progress, .file: false
        }
    }
}
