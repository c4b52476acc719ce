import Foundation
import LannerMachine

/// Where the next exchange of a download goes, and which of the caller's header fields it may carry there.
///
/// Begins at the URL that the caller gave, and follows redirects from there. Credentials stay with the origin they
/// were given for; what was dropped on the way does not come back, not even when the way leads back.
package struct Destination: Sendable, Hashable {
    /// Where to: http or https, with a host, without user info and without a fragment.
    package private(set) var url: URL
    /// The caller's fields, as far as they may go there.
    package private(set) var fields: HeaderFields
    private(set) var address: WebAddress

    /// Checks a URL and header fields that a caller gave.
    ///
    /// User info in the URL becomes `Authorization: Basic`, unless the fields have an `Authorization` already.
    package init(url: URL, fields: HeaderFields) throws(DownloadFailure) {
        let address: WebAddress
        do throws(WebAddress.Refusal) {
            address = try WebAddress(url.absoluteString)
        } catch {
            throw Self.unacceptable("The URL \(Self.redacted(url.absoluteString)) \(error.reason).")
        }
        try self.init(address, of: url, fields: fields)
    }

    /// The same for a URL that was taken apart.
    package init(_ address: WebAddress, of url: URL, fields: HeaderFields) throws(DownloadFailure) {
        try RequestCheck.check(fields)
        self.address = address
        // Most need no change, and to make one takes longer than all the rest.
        self.url = url.absoluteString == address.text ? url.absoluteURL : try Self.url(of: address)
        self.fields = fields
        if let userInfo = address.userInfo, fields["Authorization"] == nil {
            self.fields["Authorization"] = try Self.basicCredentials(userInfo)
        }
    }

    /// Where the link of a download leads: with its own fields if it has some, else with those that were given for the
    /// download's URL, as far as they may leave its origin.
    init(_ link: KeptLink, url: URL, fields: HeaderFields) throws(DownloadFailure) {
        if link.fields != nil || link.url == url {
            try self.init(url: link.url, fields: link.fields ?? fields)
        } else {
            let first = try Destination(url: url, fields: fields)
            let own = try Destination(url: link.url, fields: [:])
            // Its own user info outweighs that of the URL, but not what the caller has given.
            let given = own.fields["Authorization"] == nil ? first.fields : fields
            try self.init(
                url: link.url, fields: Self.fields(given, from: first.address.origin, to: own.address.origin))
        }
    }

    /// Goes on to where a response's `Location` points. User info in it is dropped: a server has no credentials to give.
    /// How often in a row is not counted here.
    package mutating func follow(_ location: String) throws(DownloadFailure) {
        let next: WebAddress
        do throws(WebAddress.Refusal) {
            next = try address.resolving(location)
        } catch {
            let (here, there) = (Self.redacted(address.text), Self.redacted(location))
            throw DownloadFailure(.redirect, "\(here) redirects to \(there), which \(error.reason).")
        }
        url = try Self.url(of: next)
        fields = Self.fields(fields, from: address.origin, to: next.origin)
        address = next
    }

    /// The fields that may follow a redirect.
    ///
    /// Within an origin all of them. To another one (a change from https to http, or back, is one too) only those that
    /// describe the client and what it can read: any other may hold a key under a name of its own.
    private static func fields(_ fields: HeaderFields, from old: Origin, to new: Origin) -> HeaderFields {
        if old == new { return fields }
        return HeaderFields(fields.fields.filter { field in harmless.contains { HeaderFields.same($0, field.name) } })
    }

    /// The fields that may go on to another URL of the caller's, for which none were given.
    static func fields(_ fields: HeaderFields, givenFor old: URL, goingTo new: URL) -> HeaderFields {
        guard let old = try? WebAddress(old.absoluteString), let new = try? WebAddress(new.absoluteString) else {
            return HeaderFields()
        }
        return Self.fields(fields, from: old.origin, to: new.origin)
    }

    private static let harmless = ["Accept", "Accept-Language", "User-Agent"]
}

extension Destination {
    private static func url(of address: WebAddress) throws(DownloadFailure) -> URL {
        guard let url = address.url else { throw unacceptable("The URL \(redacted(address.text)) is not valid.") }
        return url
    }

    private static func unacceptable(_ detail: String) -> DownloadFailure {
        DownloadFailure(.transport(.unacceptableRequest), detail)
    }

    /// The value of `Authorization` for the user info of a URL (RFC 7617, 2).
    private static func basicCredentials(_ userInfo: String) throws(DownloadFailure) -> String {
        // The server's encoding is its own: what is no UTF-8 stays as it is.
        let parts = userInfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(\.percentDecoded)
        let colon = UInt8(ascii: ":")
        let user = parts.first ?? []
        guard !user.contains(colon) else {
            throw unacceptable("The user name in the URL has a colon, which Basic authentication cannot carry.")
        }
        let password = parts.count > 1 ? parts[1] : []
        return "Basic " + Data(user + [colon] + password).base64EncodedString()
    }

    /// A URL that may be anything, safe to show: without user info, query, fragment and control characters, and not too
    /// long.
    package static func redacted(_ text: String) -> String {
        var reference = URIReference(withoutUserInfo(text))
        reference.query = reference.query.map { _ in "…" }
        reference.fragment = reference.fragment.map { _ in "…" }
        return FieldText.shown(reference.text)
    }

    /// Where a text is no address, as with a slash in the password, all that stands before the last `@` may be user info.
    private static func withoutUserInfo(_ text: String) -> String {
        var reference = URIReference(text)
        let isPath = reference.scheme == nil && reference.authority == nil && reference.path.isAbsolutePath
        if isPath || (try? WebAddress(text)) != nil {
            reference.authority = reference.authority.map(afterLastAt)
            return reference.text
        }
        guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
        if reference.authority == nil { return afterLastAt(text) }
        return (reference.scheme.map { $0 + ":" } ?? "") + "//" + afterLastAt(text)
    }

    private static func afterLastAt(_ text: String) -> String {
        text.utf8.lastIndex(of: UInt8(ascii: "@")).map { String(text[text.utf8.index(after: $0)...]) } ?? text
    }
}
