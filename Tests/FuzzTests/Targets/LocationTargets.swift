import Foundation

@testable import LannerCore
@testable import LannerMachine

/// URLs, and where redirects lead.
extension FuzzTarget {
    /// A line with a base; then references.
    static let location = FuzzTarget("location") { bytes in
        var feed = Feed(bytes)
        let base = feed.line()
        let address = try? WebAddress(base)
        if let address { try checkAddress(address) }
        for line in [base] + feed.lines() {
            let reference = URIReference(line)
            try promise(Array(reference.text.utf8) == Array(line.utf8), "\(reference.text) is not \(line)")
            try checkRedacted(line)
            let path = URIReference.removingDotSegments(reference.path)
            try promise(!hasDots(path) || !reference.path.hasPrefix("/"), "\(path) has dots")
            if let address, let next = try? address.resolving(line) { try checkAddress(next) }
        }
    }

    private static func hasDots(_ path: String) -> Bool {
        path.utf8.split(separator: UInt8(ascii: "/")).contains {
            $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8)
        }
    }

    private static func checkAddress(_ address: WebAddress) throws {
        let text = address.text
        try promise(
            text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && !text.contains("#"), "\(text) has what it may not")
        try promise(text.utf8.count <= WebAddress.longest, "\(text.utf8.count) bytes")
        guard let again = try? WebAddress(text) else { throw BrokenPromise(description: "\(text) is refused") }
        try promise(again.text == text && again.userInfo == nil && again.origin == address.origin, "\(text) moves")
        if let url = address.url { try checkURL(url, address) }
    }

    /// Whoever makes the connection reads the same in it: credentials are given out by what we read.
    static func checkURL(_ url: URL, _ address: WebAddress) throws {
        let host = url.host.map { $0.contains(":") ? "[\($0)]" : $0 }
        try promise(host == address.host, "\(address.text): the host is \(host ?? "none") for Foundation")
        try promise(url.scheme == address.scheme && url.port == address.port, "\(address.text): scheme or port differ")
        try promise(url.user == nil && url.password == nil && url.fragment == nil, "\(address.text): there is more")
    }

    private static func checkRedacted(_ text: String) throws {
        let shown = Destination.redacted(text)
        try promise(
            !shown.unicodeScalars.contains(where: \.isDisruptive), "not fit to be shown")
        try promise(URIReference(shown).authority?.contains("@") != true, "\(shown) shows user info")
        guard let address = try? WebAddress(text), let info = address.userInfo, info.utf8.count > 8 else { return }
        var rest = URIReference(text)
        rest.authority = address.host
        // The host may say the same; there it has small letters.
        let isElsewhere = rest.text.lowercased().contains(info.lowercased())
        try promise(!shown.contains(info) || isElsewhere, "\(shown) shows \(info)")
    }

    private static let given: HeaderFields = [
        "Authorization": "Basic c2VjcmV0", "Cookie": "secret", "X-Key": "secret", "Accept": "*/*", "User-Agent": "me",
    ]

    /// A line with the URL that a caller gives; then what the servers on the way say in `Location`.
    static let redirect = FuzzTarget("redirect") { bytes in
        var feed = Feed(bytes)
        guard let url = URL(string: feed.line()) else { return }
        let hasFields = feed.flag()
        guard var destination = try? Destination(url: url, fields: hasFields ? given : [:]) else { return }
        let origin = (destination.url.scheme, destination.url.host, destination.url.port)
        var isAtHome = true
        try checkDestination(destination)
        for location in feed.lines() {
            let before = destination
            guard (try? destination.follow(location)) != nil else {
                try promise(destination == before, "a redirect that is refused changes something")
                continue
            }
            try checkDestination(destination)
            isAtHome = isAtHome && (destination.url.scheme, destination.url.host, destination.url.port) == origin
            let secrets = ["Authorization", "Cookie", "X-Key"].compactMap { destination.fields[$0] }
            try promise(isAtHome || secrets.isEmpty, "\(destination.url) gets \(secrets)")
        }
    }

    private static func checkDestination(_ destination: Destination) throws {
        guard let address = try? WebAddress(destination.url.absoluteString) else {
            throw BrokenPromise(description: "\(destination.url) is no address")
        }
        try promise(address.text == destination.url.absoluteString, "\(destination.url) is not as it is sent")
        try checkURL(destination.url, address)
        try promise((try? RequestCheck.check(destination.fields)) != nil, "\(destination.fields) cannot be sent")
    }
}
