// What failures speak of: a table for each question that is asked of them.

extension DownloadFailure.Reason {
    /// Whether the same request may do better later.
    package var isWorthRetrying: Bool {
        switch self {
        case .transport(let fault): fault.isWorthRetrying
        case .status(let code): Self.passingStatuses.contains(code) || Self.isUnknown(code)
        // The one fresh start that such an answer gets has been made already.
        case .unusableResponse: false
        // The same chain of redirects would be walked again.
        case .redirect: false
        // Whoever gives links may have a network of its own to reach.
        case .link: true
        // The whole file was fetched and is wrong; only the user can tell whether it or the checksum is at fault.
        case .checksumMismatch: false
        // Who has them open closes them by and by.
        case .disk(.tooManyFiles): true
        // The network cannot help.
        case .disk, .store: false
        }
    }

    /// The same of an answer that may have said when to come back.
    package func isWorthRetrying(retryAfter: Duration?) -> Bool {
        if isWorthRetrying { return true }
        guard retryAfter != nil, case .status(let code) = self else { return false }
        return Self.dated.contains(code)
    }

    /// Whether a transport found no network that it may use. It may notice before whoever watches the network does.
    package var isWantOfNetwork: Bool {
        switch self {
        case .transport(.notConnected), .transport(.networkNotAllowed): true
        case .transport, .status, .unusableResponse, .redirect, .link, .checksumMismatch, .disk, .store: false
        }
    }

    /// Statuses that speak of the moment, not of the file.
    private static let passingStatuses: Set<Int> = [
        408,  // Request Timeout: the server gave up on this connection (RFC 9110, 15.5.9).
        421,  // Misdirected Request: over a connection that was another host's (RFC 9110, 15.5.20).
        425,  // Too Early: it does not answer early data (RFC 8470, 5.2).
        429,  // Too Many Requests: wait (RFC 6585, 4).
        500,  // Internal Server Error: mostly one instance, or one bad moment.
        502,  // Bad Gateway: the server behind it is being restarted.
        503,  // Service Unavailable: overload or maintenance, by definition temporary (RFC 9110, 15.6.4).
        504,  // Gateway Timeout: the server behind it was too slow this time.
        511,  // Network Authentication Required: from a network that somebody has to log in to (RFC 6585, 6).
    ]

    /// Statuses that speak of the moment where they say when it is over.
    private static let dated: Set<Int> = [
        403,  // Forbidden: for a while, as by limits on rates that are told so.
        413,  // Content Too Large: temporary with Retry-After (RFC 9110, 15.5.14).
    ]

    /// Statuses that are not registered stand for 500 (RFC 9110, 15): delivery networks say by many of them that the
    /// server behind cannot be reached now. The others up to 510 are registered, and do not speak of the moment.
    private static func isUnknown(_ code: Int) -> Bool { code == 509 || (512...599).contains(code) }
}

// MARK: Whom a failure speaks of

extension DownloadFailure.Reason {
    /// Whether another connection would fare no better.
    var isOfDisk: Bool {
        if case .disk = self { true } else { false }
    }

    /// Whether another place may fare better.
    var isOfPlace: Bool {
        switch self {
        case .transport(let fault):
            switch fault {
            case .notConnected, .networkNotAllowed, .diskFull, .canceled, .unavailable: false
            case .timedOut, .connectionLost, .cannotConnect, .cannotFindHost, .secureConnectionFailed,
                .malformedResponse, .lengthMismatch, .unacceptableRequest, .other:
                true
            }
        case .status, .unusableResponse, .redirect, .link, .checksumMismatch: true
        case .disk, .store: false
        }
    }

    /// Whether who answers so to a request for a part of a file may still send all of it.
    var maySpeakOfRanges: Bool {
        switch self {
        // The program behind a server may fail at every part, which the server tells as its own failure, or as that of a
        // gateway. The others speak of the moment, of the file, or of who asks.
        case .status(500), .status(502): true
        case .status(let code): !isWorthRetrying && !Self.finalStatuses.contains(code)
        case .transport(let fault): fault == .malformedResponse
        case .unusableResponse, .redirect, .link, .checksumMismatch, .disk, .store: false
        }
    }

    /// Statuses that speak of the file, or of who asks for it: a part of it would not be refused otherwise than all of it.
    private static let finalStatuses: Set<Int> = [401, 403, 404, 407, 410, 451]

    /// Whether an exchange that was given resume data and failed so before its answer may owe that to the data: they
    /// name files that may be gone by now. Else it failed on its way, and the data are as good as before.
    var maySpeakOfResumeData: Bool {
        switch self {
        case .transport(let fault): fault.maySpeakOfResumeData
        // A status that may pass says nothing of the data; another one does: the data lead to where the file once was.
        case .status: !isWorthRetrying
        // They need room like all others.
        case .disk: false
        case .unusableResponse, .redirect, .link, .checksumMismatch, .store: true
        }
    }
}

extension TransportFault {
    /// Whether the same exchange may do better later.
    package var isWorthRetrying: Bool {
        switch self {
        case .timedOut: true  // A stalled path or an overloaded server; both pass.
        case .connectionLost: true  // The usual end of a long transfer; what is held is kept.
        case .cannotConnect: true  // The server is being restarted, or a route is down.
        case .cannotFindHost: true  // Resolvers fail for moments, after a change of network above all.
        case .notConnected: true  // The network comes back.
        case .networkNotAllowed: false  // Time does not change what the user allowed.
        case .secureConnectionFailed: false  // A certificate does not heal, and must not be worn down by trying.
        case .malformedResponse: false  // The server does not speak HTTP, or the transport refuses it for safety.
        case .lengthMismatch: true  // The connection ended early; what is held is kept.
        case .unacceptableRequest: false  // The same request stays unacceptable.
        case .canceled: false  // Somebody wanted it to end.
        case .unavailable: false  // The transport is gone for good.
        case .diskFull: false  // The user has to make room.
        case .other: true  // Unknown; the count bounds it.
        }
    }

    fileprivate var maySpeakOfResumeData: Bool {
        switch self {
        case .timedOut, .connectionLost, .cannotConnect, .cannotFindHost, .notConnected: false  // The network did.
        case .networkNotAllowed, .secureConnectionFailed: false  // The data are not looked at before.
        case .diskFull: false
        case .malformedResponse, .lengthMismatch, .unacceptableRequest: true  // What was asked, or came, is no good.
        case .canceled, .unavailable, .other: true  // URLSession has no better words for data that it cannot read.
        }
    }
}

// MARK: Statuses

/// What statuses say besides that there is no file.
enum RefusalTables {
    /// How servers answer for a link whose time is over: object stores also by 400.
    static let ofLinks: Set<Int> = [400, 401, 403, 410]

    /// How servers refuse one connection more than they grant.
    static let ofCrowds: Set<Int> = [429, 503, 509]

    /// Whether servers answer so for a place that was led to and whose time is over: as for a link, or as if it had never
    /// been. Who says when to ask again has not forgotten it.
    static func mayMeanThatAPlaceExpired(_ status: Int, _ retryAfter: Duration?) -> Bool {
        retryAfter == nil && (ofLinks.contains(status) || status == 404)
    }
}
