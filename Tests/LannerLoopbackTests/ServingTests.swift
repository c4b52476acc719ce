import Foundation
import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ServingTests {
    let server: LoopbackServer
    let file = LoopbackServer.Resource(.generated(seed: 7, length: 100_000), entityTag: .strong("a"))

    init() throws {
        server = try LoopbackServer()
        server.put("/file", file)
    }

    @Test func servesAWholeResource() throws {
        let answer = try RawClient(port: server.port).get("/file")
        #expect(answer.status == 200)
        #expect(answer["Content-Length"] == "100000")
        #expect(answer["ETag"] == "\"a\"")
        #expect(answer["Accept-Ranges"] == "bytes")
        #expect(answer["Date"] != nil)
        #expect(answer["Last-Modified"] == nil)
        #expect(answer.body == file.bytes)
    }

    @Test func servesAnEmptyResource() throws {
        server.put("/empty", .init([]))
        let answer = try RawClient(port: server.port).get("/empty")
        #expect(answer.status == 200)
        #expect(answer["Content-Length"] == "0")
        let part = try RawClient(port: server.port).get("/empty", ["Range: bytes=0-"])
        #expect(part.status == 416)
        #expect(part["Content-Range"] == "bytes */0")
    }

    @Test func findsAPathThatIsEncodedAndHasAQuery() throws {
        server.put("/a b/ü.bin", .init("found".utf8))
        let client = try RawClient(port: server.port)
        #expect(try client.get("/a%20b/%C3%BC.bin?x=1").text == "found")
        #expect(try client.get("http://127.0.0.1/a%20b/%C3%BC.bin").text == "found")
        let url = server.url("/a b/ü.bin", query: "x=1")
        #expect(url.absoluteString == "http://127.0.0.1:\(server.port)/a%20b/%C3%BC.bin?x=1")
        #expect(server.baseURL.absoluteString == "http://127.0.0.1:\(server.port)/")
    }

    @Test func putReplacesAndRemoveAnswers404() throws {
        let client = try RawClient(port: server.port)
        server.put("file", .init("new".utf8))
        #expect(try client.get("/file").text == "new")
        server.remove("file")
        #expect(try client.get("/file").status == 404)
    }

    @Test func headHasNoBody() throws {
        let client = try RawClient(port: server.port)
        try client.ask("/file", ["Range: bytes=0-1"], method: "HEAD")
        let head = try client.readAnswer(toHead: true)
        #expect(head.status == 200)
        #expect(head["Content-Length"] == "100000")
        // The next answer starts where the body would have been.
        #expect(try client.get("/file").status == 200)
    }

    @Test func refusesOtherMethodsAndSkipsTheirBody() throws {
        let client = try RawClient(port: server.port)
        try client.send(
            "POST /file HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nGET /GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
        let refusal = try client.readAnswer()
        #expect(refusal.status == 405)
        #expect(refusal["Allow"] == "GET, HEAD")
        #expect(try client.readAnswer().body == file.bytes)
    }

    @Test func sendsTheFieldsOfTheResourceInPlaceOfItsOwn() throws {
        let fields: LoopbackServer.Fields = [
            "Content-Disposition": "attachment; filename=\"ä.bin\"", "content-encoding": "gzip",
            "date": "Sun, 06 Nov 1994 08:49:37 GMT", "Set-Cookie": "a=1", "Set-Cookie": "b=2",
        ]
        server.put("/file", .init("x".utf8, entityTag: .weak("w"), fields: fields))
        let answer = try RawClient(port: server.port).get("/file")
        #expect(answer["Content-Disposition"] == "attachment; filename=\"ä.bin\"")
        #expect(answer["Content-Encoding"] == "gzip")
        #expect(answer["ETag"] == "W/\"w\"")
        let names = answer.fields.map { $0.name.lowercased() }
        #expect(names.count { $0 == "date" } == 1)
        #expect(answer["Date"] == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(names.count { $0 == "set-cookie" } == 2)
    }

    @Test func tagsDifferWithTheContent() throws {
        let client = try RawClient(port: server.port)
        let contents = ["abcdefgh", "abcdefgi", "abcdefgh\0", ""]
        let tags = try contents.map { content in
            server.put("/file", .init(content.utf8))
            return try client.get("/file")["ETag"]
        }
        #expect(Set(tags).count == contents.count)
        server.put("/file", .init(contents[0].utf8))
        #expect(try client.get("/file")["ETag"] == tags[0])
    }
}
