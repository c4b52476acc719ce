import LannerCore
import Testing

@testable import LannerURLSession

struct ResponseReaderTests {
    private enum Input {
        case response(ResponseHead)
        case bytes(Int)
        case end(ResponseHead?)
    }

    private enum Output: Equatable {
        case nothing
        case head(ResponseHead)
        case more
        case dropped
        case failure(TransportFault)
    }

    /// What a fresh reader makes of what URLSession says. Failures are compared by their fault.
    private func read(_ inputs: Input...) -> [Output] {
        var reader = ResponseReader()
        return inputs.map { input in
            switch input {
            case .response(let head): reader.response(head).map { .failure($0.fault) } ?? .nothing
            case .bytes(let count): output(reader.bytes(count))
            case .end(let head): output(reader.end(head))
            }
        }
    }

    private func output(_ piece: ResponseReader.Piece) -> Output {
        switch piece {
        case .deliver(let head): head.map { .head($0) } ?? .more
        case .drop: .dropped
        case .refuse(let failure): .failure(failure.fault)
        }
    }

    private func output(_ end: ResponseReader.End) -> Output {
        switch end {
        case .complete(let head): head.map { .head($0) } ?? .more
        case .refuse(let failure): .failure(failure.fault)
        }
    }

    private func head(_ status: Int, _ fields: HeaderFields = [:]) -> ResponseHead {
        ResponseHead(status: status, fields: fields)
    }

    @Test func theLastResponseBeforeTheBodyIsTheOne() {
        let last = head(206, ["Content-Length": "10"])
        let outputs = read(
            .response(head(200, ["Via": "the answer to CONNECT"])), .response(head(103)), .response(last), .bytes(4),
            .bytes(6), .end(nil))
        #expect(outputs == [.nothing, .nothing, .nothing, .head(last), .more, .more])
    }

    @Test func atTheEndTheTasksResponseCounts() {
        #expect(read(.response(head(103)), .end(head(301))) == [.nothing, .head(head(301))])
    }

    @Test func twoBodiesAreNotJoined() {
        let outputs = read(.response(head(401)), .bytes(1), .response(head(200)))
        #expect(outputs == [.nothing, .head(head(401)), .failure(.malformedResponse)])
    }

    @Test func nothingIsNoResponse() {
        #expect(read(.end(nil)) == [.failure(.connectionLost)])
        #expect(read(.bytes(1)) == [.failure(.malformedResponse)])
    }

    @Test func anInterimResponseIsNotTheLast() {
        #expect(read(.response(head(100)), .end(head(100))) == [.nothing, .failure(.malformedResponse)])
        #expect(read(.response(head(100)), .bytes(1)) == [.nothing, .failure(.malformedResponse)])
    }

    @Test func theLengthMustBeTheOneAnnounced() {
        let ten = head(200, ["Content-Length": "10"])
        #expect(read(.response(ten), .bytes(10), .end(nil)) == [.nothing, .head(ten), .more])
        #expect(read(.response(ten), .bytes(9), .end(nil)) == [.nothing, .head(ten), .failure(.lengthMismatch)])
        #expect(read(.response(ten), .bytes(11)) == [.nothing, .failure(.lengthMismatch)])
        #expect(read(.response(ten), .bytes(9), .bytes(2)) == [.nothing, .head(ten), .failure(.lengthMismatch)])
        #expect(read(.response(ten), .end(ten)) == [.nothing, .failure(.lengthMismatch)])
    }

    @Test func aRedirectsBodyIsDroppedWithoutALook() {
        let moved = head(302, ["Content-Length": "10"])
        #expect(read(.response(moved), .bytes(400), .end(nil)) == [.nothing, .dropped, .head(moved)])
    }

    @Test(arguments: [["12", "13"], ["12, 13"], [""], ["-1"]])
    func aLengthThatIsNotOneNumberIsRefused(_ lines: [String]) {
        let head = ResponseHead(
            status: 200, fields: HeaderFields(lines.map { .init(name: "Content-Length", value: $0) }))
        #expect(read(.response(head), .bytes(12)) == [.nothing, .failure(.malformedResponse)])
        #expect(read(.response(head), .end(head)) == [.nothing, .failure(.malformedResponse)])
    }

    @Test(
        arguments: [
            (200, ["Content-Length": "5", "Content-Encoding": "gzip"]),
            (200, ["Content-Length": "5", "Transfer-Encoding": "chunked"]),
            (204, ["Content-Length": "5"]), (304, ["Content-Length": "5"]), (302, ["Content-Length": "5"]),
        ] as [(Int, HeaderFields)])
    func whereTheLengthSaysNothing(status: Int, fields: HeaderFields) {
        #expect(head(status, fields).bodyLength == .unknown)
    }

    @Test func identityIsNoCoding() {
        let head = head(200, ["Content-Length": "5", "Content-Encoding": "Identity"])
        #expect(head.bodyLength == .bytes(5))
    }
}
