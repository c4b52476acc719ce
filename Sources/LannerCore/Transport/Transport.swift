import Foundation
import LannerMachine

/// Carries out single HTTP exchanges for a ``SessionManager``.
///
/// A transport is small and knows nothing of downloads. Redirects, retries, ranges and validators, checksums and
/// files are the manager's, once, for all transports: a transport sends the request as it is given (it adds no
/// header field of its own that would change the answer), follows no redirect, decodes no content coding, stores
/// no cookie, uses no cache, answers no challenge, and reports what came back.
///
/// Methods may be called on any thread, also from inside `receive`.
///
/// ### Exchanges that outlive the process
/// A transport whose ``TransportTraits/outlivesProcess`` is true goes on with an exchange that has a
/// ``TransportRequest/name`` while the process is suspended and when it has ended, and keeps it under that name, with its
/// outcome, until ``discard(_:)``:
/// - A request with the name of an exchange that is kept sends nothing, whatever else it says: it takes that exchange up.
///   What is reported is the head as soon as there is one, the progress so far, and then what comes, or has come already.
///   The same when the outcome was reported before, here or in another process.
/// - The file stays where it is until then: the receiver reads it and leaves it.
/// - One that was ended by the system or its user (as by a force quit) has failed with ``TransportFault/canceled``, though
///   nobody has canceled it here, with resume data where there are some.
/// - It has one receiver at a time. An exchange without a name ends with the process; so may others, which are not told of
///   then.
///
/// Other transports take no notice of names.
public protocol Transport: Sendable {
    /// What this transport is. Constant for its life.
    var traits: TransportTraits { get }

    /// Begins one GET.
    ///
    /// Returns at once; `receive` may already have been called by then. The events come one at a time (never two
    /// calls at once), on any thread, in this order:
    /// `head`, then any number of `bytes`, or any number of `progress` and one `file`, then `end`; or at any point
    /// `failure`, and then nothing.
    /// Exactly one of `end` and `failure` comes, always, also after ``TransportExchange/cancel()`` (then `failure`
    /// with ``TransportFault/canceled``, unless the end was already on its way) and after ``invalidate()``.
    ///
    /// `receive` may block for a while when the receiver cannot keep up; the transport must not deliver in parallel,
    /// and should stop reading from its connection meanwhile. So it is not called on a thread that others need, such as that
    /// of an event loop: other exchanges begin and end meanwhile. Where exchanges can be paused it does not block for a disk
    /// that is slow.
    ///
    /// `end` says that the body is complete by the framing of HTTP: the number of bytes announced by
    /// `Content-Length`, the last chunk, or the close of the connection where neither was given. A shorter body is a
    /// failure, ``TransportFault/lengthMismatch`` or ``TransportFault/connectionLost``.
    func begin(
        _ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportExchange

    /// Begins several exchanges that are wanted at once, each as by ``begin(_:receive:)``, and returns as many, in that
    /// order.
    ///
    /// Returns at once. Begins one after the other unless a transport does better: one with a thread of its own need not
    /// be woken for each.
    func begin(_ beginnings: [TransportBeginning]) -> [any TransportExchange]

    /// Ends every exchange and gives all resources back. Those under way and those begun later fail with
    /// ``TransportFault/unavailable``. Calling it twice does nothing. Exchanges that outlive the process end with the same
    /// failure for their receivers, and go on all the same. May be called inside `receive`, and while a receiver blocks, and
    /// so does not wait for a thread that is there.
    func invalidate()

    /// Tells of the exchanges that earlier processes have left. Only called on transports that outlive their process, once.
    /// A transport that hands requests on to another, and has its traits, hands this on as well: else nobody hears of what
    /// was left, and the downloads that it belongs to wait.
    ///
    /// `report` is called one at a time, on any thread, perhaps before this returns: first with
    /// ``TransportRecovery/survivors(_:)``.
    func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void)

    /// Gives up the exchange of a name: it ends if it still runs, and what was kept of it is deleted. Does nothing when
    /// there is none. Only called on transports that outlive their process. Handed on as ``recover(_:)`` is.
    func discard(_ name: String)
}

/// One exchange under way. All methods return at once and may be called after the end, where they do nothing.
public protocol TransportExchange: AnyObject, Sendable {
    /// Ends the exchange; see ``Transport/begin(_:receive:)`` for what is still reported.
    func cancel()
    /// Asks for no more bytes until ``resume()``; what is on its way still comes. A transport whose
    /// ``TransportTraits/Delivery`` is not `pausable` ignores it. Of this and ``resume()`` the call that came last counts,
    /// however often either was called, also on two threads in turn.
    func pause()
    /// Asks for bytes again.
    func resume()
    /// Whether an exchange with a name goes on when the process has ended, where the transport's traits say that such do.
    /// True unless a transport says otherwise of one: such an exchange is canceled when its manager is invalidated, so that
    /// nothing of what it holds is lost. Constant for its life. An exchange that hands on another's says what that says.
    var outlivesProcess: Bool { get }
}

extension TransportExchange {
    /// As the traits of its transport say.
    public var outlivesProcess: Bool { true }
}

/// What one exchange asks for.
public struct TransportRequest: Sendable, Hashable {
    /// Where to; http or https, with a host, without a fragment.
    public var url: URL
    /// Every header field to send, `Range` and `Accept-Encoding` included.
    public var fields: HeaderFields
    /// The transport's own resume data, from an earlier ``TransportFailure/resumeData``; then `Range` is absent.
    ///
    /// The transport goes on where that exchange stopped, with the URL and the fields that exchange had, asks for no more
    /// than is missing, and on condition that the file has not changed. A 206 is then the rest, up to the file's end, and
    /// the file that is handed over is whole, what was held included. A 200 is the whole file again. Data that it cannot
    /// use are a failure before the head, which no network would explain: ``TransportFault/other``.
    public var resumeData: Data?
    /// How long a connection may take, and how long a response may stay silent, before ``TransportFault/timedOut``.
    /// A hint for the transport's own timers; the manager keeps its own as well, unless exchanges outlive the process.
    public var timeout: Duration
    /// Which networks may be used. A transport that cannot tell networks apart ignores it.
    public var networkAccess: NetworkAccess
    /// Whether a limit on bandwidth is kept, by pauses: then little should be on its way when one comes. A hint for the
    /// transport's buffers; a limit may also come later, or go.
    public var isLimited: Bool
    /// What the exchange is known by in later processes, where it outlives this one. Given once: it is never that of
    /// another exchange.
    public var name: String?
    /// The URL as it was taken apart before.
    var known = KnownAddress()

    /// Makes a request.
    public init(
        url: URL, fields: HeaderFields = [:], resumeData: Data? = nil, timeout: Duration = .seconds(60),
        networkAccess: NetworkAccess = NetworkAccess(), isLimited: Bool = false, name: String? = nil
    ) {
        self.url = url
        self.fields = fields
        self.resumeData = resumeData
        self.timeout = timeout
        self.networkAccess = networkAccess
        self.isLimited = isLimited
        self.name = name
    }
}

/// An exchange that is to begin.
public struct TransportBeginning: Sendable {
    /// What it asks for.
    public var request: TransportRequest
    /// Who is told what comes of it, as in ``Transport/begin(_:receive:)``.
    public var receive: @Sendable (TransportEvent) -> Void

    /// Makes one.
    public init(_ request: TransportRequest, receive: @escaping @Sendable (TransportEvent) -> Void) {
        (self.request, self.receive) = (request, receive)
    }
}

extension Transport {
    /// Begins one after the other.
    public func begin(_ beginnings: [TransportBeginning]) -> [any TransportExchange] {
        beginnings.map { begin($0.request, receive: $0.receive) }
    }
}

/// Which kinds of network a request may use.
public struct NetworkAccess: Sendable, Hashable {
    /// Mobile data.
    public var cellular: Bool
    /// Networks the system calls expensive.
    public var expensive: Bool
    /// Networks in low-data mode.
    public var constrained: Bool

    /// All kinds, unless said otherwise.
    public init(cellular: Bool = true, expensive: Bool = true, constrained: Bool = true) {
        self.cellular = cellular
        self.expensive = expensive
        self.constrained = constrained
    }
}

/// What an exchange reports. See ``Transport/begin(_:receive:)`` for the order.
public enum TransportEvent: Sendable {
    /// The final response's status and header.
    case head(ResponseHead)
    /// The next piece of the body, as it was sent (no content coding is undone). Never empty. It is kept, not copied:
    /// the memory behind it must not change after `receive` has returned.
    case bytes(Data)
    /// How many bytes of the file the transport holds so far, those from before the resume data included. Reported by
    /// transports that hand over a file, as bytes arrive: without it they seem silent to the manager, which ends silent
    /// exchanges. Not less than before. An exchange that goes on with resume data tells at first what these stand for:
    /// what it leaves itself when it breaks off is used only when that, or the last progress before, is where the answer
    /// goes on.
    case progress(Int64)
    /// The whole body in a file that the transport made; the receiver opens it or moves it away before it returns. The
    /// transport may delete it afterwards, but not write into it: a receiver may still be reading what it has opened. The
    /// file of an exchange with a name that outlives the process is only read.
    case file(URL)
    /// The body is complete.
    case end
    /// The exchange is over without a complete body.
    case failure(TransportFailure)
}

/// Why an exchange ended without a complete body.
public struct TransportFailure: Error, Sendable {
    /// The class of the failure, which decides whether it is retried.
    public var fault: TransportFault
    /// One sentence for a person, in the transport's words; empty where it has none: then what ``fault`` means is told.
    public var message: String
    /// What the transport needs to go on where it stopped, for transports whose traits say so. The manager keeps it with
    /// the record of the download, also after a ``TransportExchange/cancel()``, and gives it back as
    /// ``TransportRequest/resumeData``, perhaps in another process. Once an exchange has used it and reported its head,
    /// only what that one leaves counts. Nil: what was held is lost.
    public var resumeData: Data?

    /// Makes a failure.
    public init(_ fault: TransportFault, _ message: String, resumeData: Data? = nil) {
        self.fault = fault
        self.message = message
        self.resumeData = resumeData
    }
}

extension TransportFailure: LocalizedError, CustomStringConvertible {
    /// The ``message``, or what the ``fault`` means.
    public var errorDescription: String? { description }
    /// The ``message``, or what the ``fault`` means.
    public var description: String { message.isEmpty ? fault.explanation : message }
}

/// What a transport is.
public struct TransportTraits: Sendable, Hashable {
    /// How the body arrives.
    public enum Delivery: Sendable, Hashable {
        /// In pieces, and ``TransportExchange/pause()`` works: one exchange may carry a whole file.
        case pausable
        /// In pieces that cannot be held back except by blocking: the manager asks for the file in slices of the
        /// given number of bytes, shorter ones where a limit on bandwidth is kept, with at most `inFlight` exchanges per
        /// download.
        case sliced(ClosedRange<Int64>, inFlight: Int)
        /// As a finished file, with ``TransportEvent/progress(_:)`` on the way.
        case file
    }

    /// How the body arrives.
    public var delivery: Delivery
    /// Whether a failure may carry resume data that ``TransportRequest/resumeData`` takes. For transports that deliver a
    /// file; with others it is ignored.
    public var hasResumeData: Bool
    /// Whether exchanges with a name go on when the process that began them has ended. For transports that deliver a file.
    public var outlivesProcess: Bool

    /// Makes traits.
    public init(delivery: Delivery, hasResumeData: Bool = false, outlivesProcess: Bool = false) {
        self.delivery = delivery
        self.hasResumeData = hasResumeData
        self.outlivesProcess = outlivesProcess
    }
}
