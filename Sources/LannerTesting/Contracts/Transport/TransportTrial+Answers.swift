import LannerCore
import LannerLoopback

/// What is asked, and what is answered.
extension TransportTrial {
    func everyStatus() async throws {
        for status in [201, 404, 410, 416, 429, 500, 503] {
            site.always(Self.path, .status(status, ["Retry-After": "7"], body: [1, 2, 3]))
            let record = try await fetch()
            expect(record, [1, 2, 3], "An answer of \(status)")
            expect(record.head?.status == status, "It was reported as \(record.head?.status ?? 0).")
            expect(record.head?.fields["Retry-After"] == "7", "The head came without its `Retry-After`.")
        }
    }

    func finalHead() async throws {
        site.always(Self.path, .afterHints)
        let record = try await fetch()
        expect(record, Array("hello".utf8), "An answer after a 103")
        expect(record.head?.status == 200, "It was reported as \(record.head?.status ?? 0).")
        expect(record.head?.fields["Link"] == nil, "The head had a field of the 103.")
    }

    /// In lines of their own, or in one where the transport joins them (RFC 9110, 5.3).
    func repeatedField() async throws {
        let resource = serve(100, .fields(["Set-Cookie": "a=b; Path=/", "Set-Cookie": "c=d; Path=/"]))
        let record = try await fetch()
        expect(record, resource.bytes, "An answer with two cookies")
        let told = record.head?.fields.values(of: "Set-Cookie") ?? []
        for cookie in ["a=b", "c=d"] {
            expect(told.contains { $0.contains(cookie) }, "Of two cookies \(told) were reported.")
        }
    }

    func redirect() async throws {
        _ = serve(100, at: "/other")
        for status in [301, 302, 303, 307, 308] {
            site.always(Self.path, .status(status, ["Location": "/other?x=1"]))
            let record = try await fetch()
            expect(record.isComplete, "A redirect of \(status) ended with \(record.ending).")
            expect(record.head?.status == status, "A \(status) was reported as \(record.head?.status ?? 0).")
            let location = record.head?.fields["Location"] ?? "missing"
            expect(location == "/other?x=1", "The `Location` was reported as \(location).")
            expect(site.requests("/other").isEmpty, "The transport went where a \(status) points.")
        }
    }

    func challenge() async throws {
        site.always(Self.path, .status(401, ["WWW-Authenticate": "Basic realm=\"here\""], body: [1, 2]))
        let record = try await fetch()
        expect(record.isComplete, "A challenge ended with \(record.ending).")
        expect(record.head?.status == 401, "It was reported as \(record.head?.status ?? 0).")
        expect(site.requests(Self.path).count == 1, "\(site.requests(Self.path).count) requests came.")
    }

    func cookie() async throws {
        _ = serve(100, .fields(["Set-Cookie": "a=b; Path=/"]))
        for _ in 0..<2 { _ = try await fetch() }
        let cookies = site.requests(Self.path).compactMap { $0.fields["Cookie"] }
        expect(cookies.isEmpty, "A later request had `Cookie: \(cookies.first ?? "")`.")
    }

    func cache() async throws {
        let fresh = TransportContract.Answer.fields(["Cache-Control": "max-age=3600"])
        let resource = serve(10_000, fresh)
        for _ in 0..<2 { expect(try await fetch(), resource.bytes, "A file that may be kept for an hour") }
        let count = site.requests(Self.path).count
        expect(count == 2, "Of two exchanges \(count) sent a request.")
        let changed = serve(10_000, seed: 2, fresh)
        expect(try await fetch(), changed.bytes, "The file in its place")
    }

    func target() async throws {
        let (target, path) = ("/a%20b%2Fc/d+e%c3%a9?x=1&y=%2F&z", "/a b/c/d+eé")
        let resource = serve(100, at: path)
        expect(try await fetch(target), resource.bytes, "A path with a space and an encoded slash")
        let sent = site.requests(path).first?.target ?? "nothing"
        expect(sent == target, "\(target) was asked for as \(sent).")
    }

    func fields() async throws {
        _ = serve(1000)
        let given: HeaderFields = [
            "Accept": "audio/*", "Accept-Encoding": "identity", "Authorization": "Basic YTpi", "Cookie": "c=d; e=f",
            "If-Range": "\"tag\"", "Range": "bytes=0-99", "User-Agent": "contract/1", "X-Custom": "a, b; c=\"d\"",
        ]
        _ = try await fetch(Self.path, given)
        let sent = site.requests(Self.path).first?.fields ?? [:]
        for field in given.fields {
            let values = sent.values(of: field.name)
            expect(values == [field.value], "`\(field.name): \(field.value)` was sent as \(values).")
        }
    }

    /// Fields that would change the answer.
    private static let unasked = [
        "Authorization", "Cookie", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since",
        "Origin", "Range", "Referer", "TE",
    ]

    func ownFields() async throws {
        _ = serve(1000)
        for _ in 0..<2 { _ = try await fetch() }
        for request in site.requests(Self.path) {
            let added = Self.unasked.filter { request.fields[$0] != nil }
            expect(added.isEmpty, "\(added.joined(separator: ", ")) was sent unasked.")
            let codings = request.fields["Accept-Encoding"] ?? "identity"
            expect(codings == "identity", "`Accept-Encoding: \(codings)` was sent unasked.")
        }
    }

    func range() async throws {
        let resource = serve(100_000)
        let part = try await fetch(Self.path, ["Range": "bytes=1000-1999"])
        expect(part, resource.bytes(in: 1000..<2000), "A range")
        expect(part.head?.status == 206, "A 206 was reported as \(part.head?.status ?? 0).")
        let place = part.head?.fields["Content-Range"] ?? "missing"
        expect(place == "bytes 1000-1999/100000", "The `Content-Range` was reported as \(place).")
        let beyond = try await fetch(Self.path, ["Range": "bytes=100000-"])
        expect(beyond.isComplete && beyond.head?.status == 416, "A range beyond the end ended with \(beyond.ending).")
    }

    /// A body takes twice as long as silence may, of which each step is a sixtieth. A machine that stands still is silent as
    /// well: one of five exchanges will do.
    func timeout() async throws {
        let resource = serve(120)
        guard site.trickle(Self.path, bytesPerSecond: 20) else { return }
        var request = request()
        request.timeout = .seconds(3)
        var record = try await fetch(request)
        for _ in 0..<4 where record.fault == .timedOut { record = try await fetch(request) }
        expect(record, resource.bytes, "An exchange that was never silent for long")
    }
}
