import CLannerCurl
import Foundation
import LannerCore
import LannerLoopback
import Testing
import TransportSupport

@testable import LannerCurl

/// Handles of libcurl's are used again: nothing of a transfer may reach the next.
@Suite(.timeLimit(.minutes(10)))
struct ReuseTests {
    let server: LoopbackServer
    let transport: CurlTransport

    init() throws {
        server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource(.generated(seed: 7, length: 1000)))
        server.put("/large", LoopbackServer.Resource(.generated(seed: 7, length: 64 << 20)))
        server.put("/silent", LoopbackServer.Resource([1]))
        server.always("/silent", .hold)
        transport = try CurlTransport()
    }

    private func names(_ request: LoopbackServer.Request?) -> [String]? {
        request?.fields.lines.map { $0.name }
    }

    @Test func aHandleThatEndedWellIsUsedAgain() throws {
        var spare = SpareHandles(.init())
        let handle = try take(from: &spare)
        spare.give(handle)
        let (again, another) = (try take(from: &spare), try take(from: &spare))
        #expect(again === handle && another !== handle)
    }

    @Test func aHandleThatDidNotTakeAnOptionIsNotUsedAgain() throws {
        var spare = SpareHandles(.init())
        let handle = try take(from: &spare)
        handle.set(lanner_curl_option(rawValue: 9_999), 1)
        spare.give(handle)
        #expect(try take(from: &spare) !== handle)
    }

    /// Each transport has a thread, which it keeps for a while; those of Dispatch are few, and for the whole program.
    @Test func manyTransportsLeaveDispatchItsThreads() async throws {
        let transports = try (0..<300).map { _ in try CurlTransport() }
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let group = DispatchGroup()
        for transport in transports {
            group.enter()
            _ = transport.begin(TransportRequest(url: url)) { event in
                if case .failure = event { group.leave() }
            }
        }
        let isDone = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: group.wait(timeout: .now() + 60) == .success) }
        }
        #expect(isDone, "an idle thread is given back later than that")
        for transport in transports { transport.invalidate() }
    }

    /// Servers close them after a while, which libcurl looks at when it is asked for more.
    @Test func whoHasNothingToDoKeepsNoConnection() async throws {
        try Library.require()
        let handles = Locked(0)
        let make: @Sendable () -> OpaquePointer? = {
            handles.withLock { $0 += 1 }
            return Loop.makeWakeable()
        }
        let loop = Loop(.init(), make: make, patience: 1)
        for number in 1...2 {
            #expect(await fetch(over: loop).isComplete)
            while server.activity.openConnections > 0 { try await Task.sleep(for: .milliseconds(20)) }
            #expect(handles.withLock { $0 } == number)
        }
        loop.close()
    }

    /// Whatever comes just when the thread is given back.
    @Test func whoHasNoPatienceServesAll() async throws {
        try Library.require()
        let loop = Loop(.init(), patience: 0)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 where await !self.fetch(over: loop).isComplete { return false }
                    return true
                }
            }
            for await isServed in group { #expect(isServed) }
        }
        loop.close()
    }

    private func fetch(over loop: Loop) async -> Recorder.Log {
        let recorder = Recorder()
        let request = TransportRequest(url: server.url("/file"))
        loop.begin([CurlExchange(request, loop: loop, receive: recorder.receive)])
        return await recorder.end()
    }

    private func take(from spare: inout SpareHandles) throws -> LannerCurl.Handle {
        let handle = spare.take()
        return try #require(handle)
    }

    /// Over the same connection as well: no more is on its way to a limited transfer than its buffer takes.
    @Test func aHandleReadsAsMuchAtOnceAsItsTransferMay() throws {
        try Library.require()
        var spare = SpareHandles(.init())
        let multi = try #require(Loop.makeWakeable())
        let handle = try take(from: &spare)
        let whole = try mostReadAtOnce(handle, multi, isLimited: false)
        spare.give(handle)
        let again = try take(from: &spare)
        let read = try mostReadAtOnce(again, multi, isLimited: true)
        #expect(again === handle && read <= Mailbox.least)
        if try Library.outcome.get() < 0x08_07_00 { #expect(whole > Mailbox.least) }
        #expect(server.activity.connections == 1)
        spare.drain()
        lanner_curl_multi_free(multi)
    }

    /// Of a large file, by what libcurl has read of it and not handed over yet; from 8.7 on it counts both alike.
    private func mostReadAtOnce(_ handle: LannerCurl.Handle, _ multi: OpaquePointer, isLimited: Bool) throws -> Int {
        let reading = Reading(handle.easy)
        handle.aim(at: try WebAddress(server.url("/large").absoluteString), within: 3600, isLimited: isLimited)
        let own = Unmanaged.passUnretained(reading).toOpaque()
        handle.setReceiver(LANNER_CURL_WRITE_FUNCTION, LANNER_CURL_WRITE_CONTEXT, Reading.take, own)
        try handle.check()
        try #require(lanner_curl_multi_add(multi, handle.easy) == 0)
        var code: Int32 = -1
        while lanner_curl_multi_next_done(multi, &code) == nil {
            try #require(lanner_curl_multi_perform(multi) == 0 && lanner_curl_multi_wait(multi, 1000) == 0)
        }
        lanner_curl_multi_remove(multi, handle.easy)
        try #require(code == 0 && reading.taken == 64 << 20)
        return reading.most
    }

    private final class Reading {
        private let easy: OpaquePointer
        private(set) var taken = 0
        private(set) var most = 0

        init(_ easy: OpaquePointer) {
            self.easy = easy
        }

        static let take: lanner_curl_receiver = { _, size, count, context in
            guard let context else { return 0 }
            Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue().take(size * count)
            return size * count
        }

        private func take(_ count: Int) {
            // `CURLINFO_SIZE_DOWNLOAD_T`
            let downloaded = lanner_curl_number(easy, lanner_curl_info(rawValue: 0x600000 + 8))
            most = max(most, downloaded - taken)
            taken += count
        }
    }

    @Test func fieldsOfATransferAreNotSentWithTheNext() async {
        let fields: HeaderFields = [
            "Authorization": "Bearer secret", "Range": "bytes=0-9", "If-Range": "\"a\"", "Accept": "a/b",
            "User-Agent": "mine", "X-Empty": "",
        ]
        #expect(await transport.fetch(server.url("/file"), fields).isComplete)
        #expect(names(server.requests.last)?.contains("Authorization") == true)
        #expect(await transport.fetch(server.url("/file")).isComplete)
        #expect(names(server.requests.last) == ["Host", "User-Agent"])
        #expect(server.requests.last?.fields["User-Agent"] == "Lanner/0.1")
    }

    /// Each finds that its connection was closed meanwhile, and is sent once more over another: that is no retry of the
    /// next.
    @Test func whatWasSentOnceMoreCountsForItsTransferOnly() {
        #expect(transport.fetchBlocking(server.url("/file")).isComplete)
        for _ in 0..<8 {
            server.script("/file", [.raw([])])
            #expect(transport.fetchBlocking(server.url("/file")).isComplete)
        }
        #expect(server.requests.count == 17)
    }

    /// A new connection would not have brought it.
    @Test func whatIsLeftOfAnAnswerIsNoFaultOfTheNext() {
        server.script("/file", [.raw(Array("\r\n".utf8))])
        #expect(transport.fetchBlocking(server.url("/file")).failure?.fault == .malformedResponse)
        #expect(transport.fetchBlocking(server.url("/file")).isComplete)
        server.script("/file", [.raw(Array("\r\n".utf8))])
        #expect(transport.fetchBlocking(server.url("/file")).failure?.fault == .connectionLost)
        // That one is new.
        server.script("/file", [.pass, .raw(Array("\r\n".utf8))])
        #expect(transport.fetchBlocking(server.url("/file")).isComplete)
        #expect(transport.fetchBlocking(server.url("/file")).failure?.fault == .malformedResponse)
    }

    @Test func aHeadOfATransferIsNotThatOfTheNext() async {
        let first = await transport.fetch(server.url("/file"))
        server.script("/file", [.raw(Array("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello".utf8))])
        let second = await transport.fetch(server.url("/file"))
        server.script("/file", [.raw([])])
        let third = await transport.fetch(server.url("/file"))
        #expect(first.head?.fields["Content-Length"] == "1000" && first.isComplete)
        #expect(second.head?.fields.fields.map(\.name) == ["Connection"] && second.bytes == Array("hello".utf8))
        #expect(third.head == nil && third.failure?.fault == .connectionLost)
    }

    /// What libcurl has said of a transfer, and the error of its connection.
    @Test func aFailureIsNotThatOfTheTransferBefore() async throws {
        let closed = try ClosedPort()
        #expect(await transport.fetch(server.url("/file")).isComplete)
        let refused = await transport.fetch(closed.url)
        #expect(await transport.fetch(server.url("/file")).isComplete)
        server.always("/lost", .raw([]))
        let lost = await transport.fetch(server.url("/lost"))
        #expect(refused.failure?.fault == .cannotConnect)
        #expect(lost.failure?.fault == .connectionLost)
        #expect(lost.failure?.message.contains("\(closed.url.port ?? 0)") == false)
    }

    @Test(.enabled(if: Library.mayTimeSilence)) func aTimeoutIsNotThatOfTheTransferBefore() async {
        #expect(await transport.fetch(server.url("/file"), timeout: .seconds(3600)).isComplete)
        #expect(await transport.fetch(server.url("/silent"), timeout: .seconds(1)).failure?.fault == .timedOut)
    }

    /// Reads as little at once as if no other had been before.
    @Test func aLimitedTransferReadsLittleAfterAnother() async {
        #expect(await transport.fetch(server.url("/file")).isComplete)
        let gate = Turnstile()
        let recorder = Recorder { if case .bytes = $0 { gate.pass() } }
        let exchange = transport.start(server.url("/large"), recorder, isLimited: true)
        await recorder.wait { !$0.bytes.isEmpty }
        #expect(recorder.log.bytes.count <= 2 * Mailbox.least)
        exchange.cancel()
        gate.open()
        #expect(await recorder.end().failure?.fault == .canceled)
    }

    @Test func manyAtOnceAreOfTheirOwn() async {
        let files = (0..<40).map { LoopbackServer.Resource(.generated(seed: $0, length: 500)) }
        for (index, file) in files.enumerated() { server.put("/\(index)", file) }
        await withTaskGroup(of: Bool.self) { group in
            for round in 0..<400 {
                let index = round % 40
                group.addTask {
                    let log = await transport.fetch(server.url("/\(index)"), ["X-Index": "\(index)"])
                    return log.isComplete && log.breaches == [] && log.hasBytes(files[index].bytes)
                }
            }
            for await isGood in group { #expect(isGood) }
        }
        let own = server.requests.allSatisfy { request in
            request.fields.lines.filter { $0.name == "X-Index" }.map { "/" + $0.value } == [request.target]
        }
        #expect(own && server.requests.count == 400)
    }
}
