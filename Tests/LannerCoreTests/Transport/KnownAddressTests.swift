import Foundation
import Testing

@testable import LannerCore

@Suite struct KnownAddressTests {
    @Test func countsForItsOwnURLOnly() throws {
        var request = TransportRequest(url: try url("http://one.test/file"))
        request.known = KnownAddress(try WebAddress("http://one.test/file"))
        #expect(try TransportRules.address(of: request) == WebAddress("http://one.test/file"))
        request.url = try url("http://two.test/file")
        #expect(try TransportRules.address(of: request).host == "two.test")
        request.url = try url("ftp://one.test/file")
        #expect(throws: TransportFailure.self) { try TransportRules.address(of: request) }
    }

    @Test func hidesNoUserInfo() throws {
        let known = KnownAddress(try WebAddress("http://user:secret@one.test/file"))
        var request = TransportRequest(url: try url("http://user:secret@one.test/file"))
        request.known = known
        #expect(throws: TransportFailure.self) { try TransportRules.address(of: request) }
        request.url = try url("http://one.test/file")
        #expect(try TransportRules.address(of: request).userInfo == nil)
    }

    @Test func makesNoDifference() throws {
        let request = TransportRequest(url: try url("http://one.test/file"))
        var other = request
        other.known = KnownAddress(try WebAddress("http://one.test/file"))
        #expect(request == other)
        #expect(request.hashValue == other.hashValue)
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }
}
