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

    @Test func aHandleForLimitedTransfersIsNotUsedAgain() throws {
        var spare = SpareHandles(.init())
        let handle = try take(from: &spare)
        spare.give(handle)
        let limited = try take(from: &spare, isLimited: true)
        spare.give(limited)
        let (again, another) = (try take(from: &spare), try take(from: &spare))
        #expect(limited !== handle && again === handle && another !== limited)
    }

    @Test func aHandleThatDidNotTakeAnOptionIsNotUsedAgain() throws {
        var spare = SpareHandles(.init())
        let handle = try take(from: &spare)
        handle.set(lanner_curl_option(rawValue: 9_999), 1)
        spare.give(handle)
        #expect(try take(from: &spare) !== handle)
    }

    private func take(from spare: inout SpareHandles, isLimited: Bool = false) throws -> Handle {
        let handle = spare.take(isLimited: isLimited)
        return try #require(handle)
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

    @Test func aTimeoutIsNotThatOfTheTransferBefore() async {
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
