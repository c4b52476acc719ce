import Foundation
import LannerLoopback
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConditionTests {
    let server: LoopbackServer
    let modified = Date(timeIntervalSince1970: 784_111_777.7)
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    let earlier = "Sun, 06 Nov 1994 08:49:36 GMT"
    let later = "Mon, 07 Nov 1994 08:49:37 GMT"

    init() throws {
        server = try LoopbackServer()
        let body = LoopbackServer.Resource.Body.generated(seed: 1, length: 1000)
        server.put("/strong", .init(body, entityTag: .strong("s"), lastModified: modified))
        server.put("/weak", .init(body, entityTag: .weak("s"), lastModified: modified))
        server.put("/bare", .init(body, entityTag: nil))
    }

    private func status(_ path: String, _ lines: String...) throws -> Int {
        try RawClient(port: server.port).get(path, lines).status
    }

    @Test func showsTheDate() throws {
        let client = try RawClient(port: server.port)
        #expect(try client.get("/strong")["Last-Modified"] == date)
        let bare = try client.get("/bare")
        #expect(bare["Last-Modified"] == nil)
        #expect(bare["ETag"] == nil)
    }

    @Test func ifRangeWithATagComparesStrongly() throws {
        let range = "Range: bytes=0-1"
        #expect(try status("/strong", range, "If-Range: \"s\"") == 206)
        #expect(try status("/strong", range, "If-Range: \"t\"") == 200)
        #expect(try status("/strong", range, "If-Range: W/\"s\"") == 200)
        #expect(try status("/weak", range, "If-Range: W/\"s\"") == 200)
        #expect(try status("/weak", range, "If-Range: \"s\"") == 200)
        #expect(try status("/bare", range, "If-Range: \"s\"") == 200)
    }

    @Test func ifRangeWithADateComparesExactly() throws {
        let range = "Range: bytes=0-1"
        #expect(try status("/strong", range, "If-Range: \(date)") == 206)
        #expect(try status("/strong", range, "If-Range: \(earlier)") == 200)
        #expect(try status("/strong", range, "If-Range: \(later)") == 200)
        #expect(try status("/bare", range, "If-Range: \(date)") == 200)
        #expect(try status("/strong", range, "If-Range: yesterday") == 200)
    }

    @Test func aDateOfThisSecondIsNoStrongValidator() throws {
        let future = Date(timeIntervalSinceNow: 3600)
        server.put("/new", .init("abc".utf8, lastModified: future))
        let client = try RawClient(port: server.port)
        let shown = try #require(try client.get("/new")["Last-Modified"])
        #expect(try client.get("/new", ["Range: bytes=0-1", "If-Range: \(shown)"]).status == 200)
    }

    @Test func aFailedIfRangeMakesEvenABadRangeWhole() throws {
        #expect(try status("/strong", "Range: bytes=5000-", "If-Range: \"t\"") == 200)
        #expect(try status("/strong", "Range: bytes=5000-", "If-Range: \"s\"") == 416)
    }

    @Test func ifMatch() throws {
        #expect(try status("/strong", "If-Match: \"x\", \"s\"") == 200)
        #expect(try status("/strong", "If-Match: *") == 200)
        #expect(try status("/strong", "If-Match: \"x\"") == 412)
        #expect(try status("/weak", "If-Match: W/\"s\"") == 412)
        #expect(try status("/none", "If-Match: *") == 404)
    }

    @Test func ifNoneMatch() throws {
        #expect(try status("/strong", "If-None-Match: \"x\", W/\"s\"") == 304)
        #expect(try status("/weak", "If-None-Match: \"s\"") == 304)
        #expect(try status("/strong", "If-None-Match: \"x\"") == 200)
        #expect(try status("/strong", "If-None-Match: *") == 304)
        // It takes precedence over the date.
        #expect(try status("/strong", "If-None-Match: \"x\"", "If-Modified-Since: \(date)") == 200)
    }

    @Test func dates() throws {
        #expect(try status("/strong", "If-Modified-Since: \(date)") == 304)
        #expect(try status("/strong", "If-Modified-Since: \(earlier)") == 200)
        #expect(try status("/strong", "If-Unmodified-Since: \(date)") == 200)
        #expect(try status("/strong", "If-Unmodified-Since: \(earlier)") == 412)
        #expect(try status("/bare", "If-Unmodified-Since: \(earlier)") == 200)
    }
}
