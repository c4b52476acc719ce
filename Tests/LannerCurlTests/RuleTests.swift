import CLannerCurl
import Foundation
import LannerCore
import Testing

@testable import LannerCurl

/// The parts that decide without libcurl.
@Suite struct RuleTests {
    @Test(arguments: [
        (1, "", TransportFault.malformedResponse), (3, "", .unacceptableRequest), (5, "", .cannotFindHost),
        (6, "", .cannotFindHost), (7, "", .cannotConnect), (28, "", .timedOut), (52, "", .connectionLost),
        (35, "SSL routines::wrong version number", .secureConnectionFailed),
        (35, "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to host:443", .connectionLost),
        (35, "TLS connect error: error:00000000:lib(0)::reason(0)", .connectionLost),
        (35, "Recv failure: Connection reset by peer", .connectionLost),
        (35, "Recv failure: Connection timed out", .connectionLost),
        (35, "OpenSSL SSL_connect: No route to host in connection to host:443", .connectionLost),
        (35, "OpenSSL SSL_connect: Connexion ré-initialisée in connection to h:443", .connectionLost),
        (35, "OpenSSL SSL_connect: SSL_ERROR_ZERO_RETURN in connection to host:443", .secureConnectionFailed),
        (43, "unable to set private key file: 'key.pem' type PEM", .secureConnectionFailed), (43, "", .other),
        (56, "Recv failure: Connection reset by peer", .connectionLost),
        (56, "Illegal or missing hexadecimal sequence in chunked-encoding", .malformedResponse),
        (56, "Too large response headers: 307205 > 307200", .malformedResponse),
        (56, "SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required", .secureConnectionFailed),
        (56, "OpenSSL SSL_read: error:0A000418:SSL routines::tlsv1 alert unknown ca", .secureConnectionFailed),
        (56, "OpenSSL SSL_read: error:0A0003FC:SSL routines::ssl/tls alert bad record mac", .connectionLost),
        (55, "", .connectionLost),
        (60, "SSL certificate problem: self-signed certificate", .secureConnectionFailed),
        (90, "", .secureConnectionFailed), (27, "", .other), (9999, "", .other),
    ])
    func codesDecide(code: Int32, text: String, fault: TransportFault) {
        #expect(TransferEnd(code: code, text: text).fault == fault)
    }

    /// libcurl keeps the first words of all connections that it tries.
    @Test func wordsOfAConnectionThatWasDeadAreOfNoOther() {
        for code in [60, 7, 28] as [Int32] {
            #expect(TransferEnd.mayBeOfEarlierTry("Send failure: Broken pipe", code))
            #expect(TransferEnd.mayBeOfEarlierTry("Recv failure: Connection reset by peer", code))
            #expect(!TransferEnd.mayBeOfEarlierTry("SSL certificate problem", code))
            #expect(TransferEnd.mayBeOfEarlierTry("", code))
        }
        for code in [35, 55, 56] as [Int32] {
            #expect(!TransferEnd.mayBeOfEarlierTry("Send failure: Broken pipe", code))
        }
    }

    @Test func moreThanTheCodeDecides() {
        for error in [ENETUNREACH, ENETDOWN] {
            #expect(TransferEnd(code: 7, text: "", systemError: error, hasRoute: false).fault == .notConnected)
            #expect(TransferEnd(code: 7, text: "", systemError: error, hasRoute: true).fault == .cannotConnect)
        }
        #expect(TransferEnd(code: 7, text: "", systemError: ECONNREFUSED).fault == .cannotConnect)
        #expect(TransferEnd(code: 18, text: "").fault == .connectionLost)
        for code in [1, 8] as [Int32] {
            #expect(TransferEnd(code: code, text: "").fault == .malformedResponse)
            #expect(TransferEnd(code: code, text: "", isReused: true).fault == .connectionLost)
        }
        #expect(TransferEnd(code: 18, text: "", hasLength: true).fault == .lengthMismatch)
        let strange = TransferEnd(code: 1, text: "Protocol \"https\" not supported or disabled in libcurl")
        #expect(strange.fault == .unavailable)
        #expect(TransferEnd(code: 56, text: "", proxyStatus: 200).fault == .connectionLost)
        for code in [58, 77, 90] as [Int32] {
            #expect(TransferEnd(code: code, text: "").fault == .secureConnectionFailed)
            let end = TransferEnd(code: code, text: "error setting certificate", hasTooManyFiles: true)
            #expect(end.fault == .other && end.words.hasSuffix(", for the process has too many files open"))
        }
        #expect(TransferEnd(code: 60, text: "", hasTooManyFiles: true).fault == .secureConnectionFailed)
        #expect(TransferEnd(code: 27, text: "No memory").words == "No memory, or a line of the header is too long")
        #expect(
            TransferEnd(code: 56, text: "Tunnel failed", proxyStatus: 407).words
                == "Tunnel failed; give the proxy's user name and password, for example in its URL")
        #expect(TransferEnd(code: 97, text: "Rejected.", proxyError: 33).words.hasPrefix("Rejected; give the proxy's"))
        #expect(TransferEnd(code: 56, text: "No", proxyStatus: 403).words == "No; the proxy does not allow it")
        #expect(TransferEnd(code: 56, text: "No", proxyStatus: 401).words.hasPrefix("No; give the proxy's"))
        let unknown = TransferEnd(code: 7, text: "Unsupported proxy scheme for 'foo://a'")
        #expect(unknown.fault == .unacceptableRequest && unknown.words.hasSuffix("'foo://a'; check the proxy's URL"))
    }

    @Test(arguments: [
        ("Unsupported proxy syntax in 'user:my secret@proxy:3128': no", "'proxy:3128': no"),
        ("Unsupported proxy syntax in 'user:it's@proxy:99999'", "'proxy:99999'"),
        ("Unsupported proxy syntax in 'http://user:a://b 'c@d@proxy:0'", "'http://proxy:0'"),
        ("Couldn't resolve user:word@proxy", "Couldn't resolve proxy"),
    ])
    func aProxysPasswordIsNotRepeated(text: String, rest: String) {
        let words = TransferEnd(code: 5, text: text).words
        #expect(words.hasSuffix(rest))
        #expect(!["user", "secret", "it's", "a://b", "word"].contains { words.contains($0) })
    }

    /// libcurl from 8.14 on cites the server.
    @Test func whatATerminalActsOnIsNotRepeated() {
        let text = "Unsolicited Transfer-Encoding (\u{1B}]0;owned\u{7}\r\u{9B}2J) found"
        let words = TransferEnd(code: 61, text: text).words
        #expect(words == #"Unsolicited Transfer-Encoding (\u{1B}]0;owned\u{07}\r\u{009B}2J) found"#)
    }

    /// What a server would not be asked again for is final, of a SOCKS proxy that the user is unknown or the host
    /// forbidden.
    @Test(arguments: [
        (56, 407, 0, TransportFault.unacceptableRequest), (56, 403, 0, .unacceptableRequest),
        (56, 302, 0, .unacceptableRequest), (56, 502, 0, .cannotConnect), (56, 503, 0, .cannotConnect),
        (56, 429, 0, .cannotConnect), (97, 0, 12, .unacceptableRequest), (97, 0, 33, .unacceptableRequest),
        (7, 407, 0, .unacceptableRequest), (7, 403, 0, .unacceptableRequest), (7, 502, 0, .cannotConnect),
        (97, 0, 23, .unacceptableRequest), (97, 0, 19, .cannotConnect), (97, 0, 3, .cannotConnect),
    ])
    func whatAProxyRefusesForGoodIsFinal(code: Int32, status: Int, error: Int, fault: TransportFault) {
        #expect(TransferEnd(code: code, text: "", proxyStatus: status, proxyError: error).fault == fault)
    }

    // MARK: The library

    @Test func aLibraryThatIsNotThereSaysWhatToInstall() {
        let outcome = Library.load("libcurl-that-is-not-there.so.4")
        guard case .failure(let error) = outcome else { Issue.record("It was loaded."); return }
        guard case .notLoaded(let words) = error.reason else { Issue.record("\(error)"); return }
        #expect(words.contains("libcurl-that-is-not-there"))
        #expect(error.description.contains("Install libcurl 7.68.0 or later"))
    }

    @Test(arguments: [
        (LANNER_CURL_LOADED, 0x07_43_00, "7.67.0"), (LANNER_CURL_INCOMPLETE, 0x07_3D_01, "7.61.1"),
    ])
    func anOldLibraryIsRefused(loading: lanner_curl_loading, version: UInt32, text: String) {
        let outcome = Library.judge(loading, version: version, words: "")
        #expect(throws: CurlUnavailable(.tooOld(text))) { try outcome.get() }
        #expect(CurlUnavailable(.tooOld(text)).description.hasPrefix("libcurl \(text) is too old."))
    }

    @Test(arguments: [(0x07_44_00, false), (0x07_4A_00, false), (0x07_4B_00, true), (0x08_00_00, true)])
    func whoCountsPausesDoesNotTimeSilence(version: UInt32, mayTime: Bool) {
        #expect(Library.mayTimeSilence(version) == mayTime)
    }

    @Test(
        arguments: [
            (0x08_0B_00, true), (0x08_0B_01, false), (0x08_0C_01, true), (0x08_0D_00, false), (0x08_0E_00, true),
        ] as [(UInt32, Bool)])
    func whoSpoilsSomethingAfterwardsIsWaitedFor(version: UInt32, mayLeave: Bool) {
        #expect(Library.mayLeaveLookups(version) == mayLeave)
    }

    @Test(arguments: [(0x08_09_01, true), (0x08_0A_00, false), (0x08_0D_00, false), (0x08_0E_00, true)])
    func whoForgetsLimitsGetsNewHandles(version: UInt32, keeps: Bool) {
        #expect(Library.keepsLimits(version) == keeps)
    }

    @Test(
        arguments: [(0x08_07_01, false), (0x08_08_00, true), (0x08_0E_01, true), (0x08_0F_00, false)]
            as [(UInt32, Bool)])
    func someVersionsReadWhileTheyHold(version: UInt32, reads: Bool) {
        #expect(Library.readsWhileItHolds(version) == reads)
    }

    @Test(
        arguments: [(0x08_09_01, false), (0x08_0A_00, true), (0x08_0E_01, true), (0x08_0F_00, false)]
            as [(UInt32, Bool)])
    func someVersionsReadBesideOthers(version: UInt32, reads: Bool) {
        #expect(Library.readsBesideOthers(version) == reads)
    }

    @Test(arguments: [(0x08_04_00, false), (0x08_05_00, true), (0x08_06_00, false)] as [(UInt32, Bool)])
    func oneVersionDoesNotWaitForWhatIsHeld(version: UInt32, spins: Bool) {
        #expect(Library.spinsWhileItHolds(version) == spins)
    }

    @Test(
        arguments: [(0x08_0A_00, false), (0x08_0A_01, true), (0x08_14_01, true), (0x08_15_00, false)]
            as [(UInt32, Bool)])
    func someVersionsOverlookChunks(version: UInt32, overlooks: Bool) {
        #expect(Library.overlooksChunks(version) == overlooks)
    }

    /// Where it is known that they would be, in an answer that brings a file.
    @Test(arguments: [true, false]) func chunksThatWouldBeOverlookedAreRefused(overlooks: Bool) throws {
        for (status, length, isRefused) in [
            (200, "0", true), (206, "0, 0", true), (200, "1", false), (404, "0", false),
        ] {
            var reader = HeadReader(overlooksChunks: overlooks)
            #expect(reader.isUntouched)
            let lines = ["HTTP/1.1 \(status) OK", "Content-Length: \(length)", "Transfer-Encoding: chunked", ""]
            for line in lines.map({ Array(($0 + "\r\n").utf8) }) {
                #expect(line.withUnsafeBytes { reader.add($0) } == nil)
            }
            #expect(!reader.isUntouched)
            let head = Result { try reader.take() }
            #expect((try? head.get()?.status) == (isRefused && overlooks ? nil : status))
        }
    }

    /// A whole buffer of libcurl's fits in whenever it may go on.
    @Test func whereNothingMayBeRefusedAWholeBufferFitsIn() {
        var mailbox = Mailbox(isLimited: false, takesBuffers: true) { _ in }
        mailbox.pause()
        let holds = [mailbox.holds(with: 0), mailbox.resume(), mailbox.holds(with: Slab.size)]
        #expect(holds == [true, true, false])
        var small = Mailbox(isLimited: true, takesBuffers: true) { _ in }
        let isFull = small.holds(with: Mailbox.least)
        #expect(isFull)
    }

    @Test func oneThatCannotPauseIsRefused() {
        let outcome = Library.judge(LANNER_CURL_LOADED, version: 0x08_10_00, words: "")
        #expect(throws: CurlUnavailable(.faulty("8.16.0"))) { try outcome.get() }
        #expect(CurlUnavailable(.faulty("8.16.0")).description.hasPrefix("libcurl 8.16.0 breaks"))
        #expect(Library.judge(LANNER_CURL_LOADED, version: 0x08_11_00, words: "") == .success(0x08_11_00))
    }

    @Test func whatIsNoLibcurlIsRefused() {
        let outcome = Library.judge(LANNER_CURL_INCOMPLETE, version: 0, words: "undefined symbol")
        #expect(throws: CurlUnavailable(.notLoaded("undefined symbol"))) { try outcome.get() }
        #expect(Library.judge(LANNER_CURL_LOADED, version: 0x08_00_00, words: "") == .success(0x08_00_00))
    }

    // MARK: The head

    private func head(_ lines: String...) -> (HeadReader, TransportFailure?) {
        var reader = HeadReader()
        for line in lines {
            let failure = Array((line + "\r\n").utf8).withUnsafeBytes { reader.add($0) }
            if failure != nil { return (reader, failure) }
        }
        return (reader, nil)
    }

    @Test func aHeadIsTakenOnce() throws {
        var (reader, failure) = head("HTTP/2 206", "a: b", "no colon", "b c: d", "")
        #expect(failure == nil)
        let first = try reader.take()
        #expect(first == ResponseHead(status: 206, fields: ["a": "b"]))
        let second = try reader.take()
        #expect(second == nil)
    }

    /// Where libcurl asks again after bytes of the body, as when HTTP/1.1 is required of it, another body would follow.
    @Test func anotherHeadBehindTheBodyIsRefused() throws {
        var (reader, _) = head("HTTP/2 200", "")
        _ = try reader.take()
        func add(_ line: String) -> TransportFailure? { Array(line.utf8).withUnsafeBytes { reader.add($0) } }
        #expect(add("A-Trailer: HTTP/1.1\r\n") == nil && add("\r\n") == nil)
        #expect(add("HTTP/1.1 200 OK\r\n")?.fault == .connectionLost)
    }

    @Test(arguments: ["HTTP/1.1", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 abc", "HTTP/1.1 -20", "ICY 200 OK"])
    func aStatusLineWithoutAStatusIsRefused(line: String) {
        #expect(head(line).1?.fault == .malformedResponse)
    }

    @Test func aNULInTheHeaderIsRefused() {
        #expect(head("HTTP/1.1 200 O\0K").1?.fault == .malformedResponse)
        #expect(head("HTTP/1.1 200 OK", "ETag: \"a\0b\"").1?.fault == .malformedResponse)
    }

    /// Goes on with a field as often as the limit allows: minutes, if every line took as long as there are fields.
    @Test(.timeLimit(.minutes(10))) func aFieldMayGoOnAndOn() throws {
        var reader = HeadReader()
        for (line, count) in [("HTTP/1.1 200 OK\r\n", 1), ("a:\n", 2000), (" b\n", 60_000), ("\r\n", 1)] {
            let bytes = Array(line.utf8)
            for _ in 0..<count { #expect(bytes.withUnsafeBytes { reader.add($0) } == nil) }
        }
        let head = try #require(try reader.take())
        #expect(head.fields.fields.count == 2000 && head.fields.fields.last?.value.utf8.count == 120_000)
    }

    /// Each of a few bytes takes many in memory.
    @Test func moreFieldsThanAnybodySendsAreRefused() {
        var reader = HeadReader()
        let failures = (["HTTP/1.1 200 OK"] + (0...2000).map { "f\($0):" }).compactMap { line in
            Array((line + "\r\n").utf8).withUnsafeBytes { reader.add($0) }
        }
        #expect(failures.map(\.fault) == [.malformedResponse])
    }

    /// As old servers write it: the name of the file there is these very bytes.
    @Test func bytesThatAreNoUTF8LeadWhereTheyAre() throws {
        var reader = HeadReader()
        let lines = ["HTTP/1.1 302 Found\r\n", "lOCATION: /caf", "X: caf"].map { Array($0.utf8) }
        let end: [UInt8] = [0xE9, 0x0D, 0x0A]
        for line in [lines[0], lines[1] + end, lines[2] + end, [0x0D, 0x0A]] {
            #expect(line.withUnsafeBytes { reader.add($0) } == nil)
        }
        let fields = try #require(try reader.take()).fields
        #expect(fields["Location"] == "/caf%E9" && fields["X"] == "caf\u{E9}")
    }

    /// What a terminal would act on.
    @Test func controlCharactersAreNotRepeatedInErrors() throws {
        let status = try #require(head("HTTP/1.1 \u{1B}[2Jx").1)
        var (reader, _) = head("HTTP/1.1 200 OK", "Content-Length: \u{1B}]0;x\u{7}5", "")
        let length = try #require(throws: TransportFailure.self) { try reader.take() }
        for failure in [status, length] {
            #expect(failure.message.contains("u{1B}") && !failure.message.unicodeScalars.contains("\u{1B}"))
        }
    }

    /// As libcurl sees it, which tells of no other.
    @Test func theEmptyLineMayHaveMoreThanOneReturn() throws {
        var (reader, failure) = head("HTTP/1.1 200 OK\r", "a: b\r", "\r")
        #expect(failure == nil)
        #expect(try reader.take() == ResponseHead(status: 200, fields: ["a": "b"]))
    }

    /// The file would have the marks of the chunks in it.
    @Test(arguments: [["Transfer-Encoding : chunked"], ["transfer-encoding:", " chunked"], ["Transfer-Encoding\t: x"]])
    func aCodingThatLibcurlOverlooksIsRefused(lines: [String]) throws {
        for end in [[], ["a: b"]] {
            var reader = HeadReader()
            for line in ["HTTP/1.1 200 OK"] + lines + end + [""] {
                #expect(Array((line + "\r\n").utf8).withUnsafeBytes { reader.add($0) } == nil)
            }
            let failure = try #require(throws: TransportFailure.self) { try reader.take() }
            #expect(failure.fault == .malformedResponse)
        }
        // Of an interim one it does not matter.
        var (reader, _) = head("HTTP/1.1 103 Early Hints", lines[0], "", "HTTP/1.1 200 OK", "")
        #expect(try reader.take() == ResponseHead(status: 200))
    }

    @Test func aLengthCountsWithASpaceBehindItsName() throws {
        var (reader, _) = head("HTTP/1.1 200 OK", "content-length : 5", "")
        #expect(try reader.take() == ResponseHead(status: 200, fields: ["content-length": "5"]))
        #expect(reader.length == .bytes(5))
    }

    @Test func whatGoesOnWithALineThatIsLeftOutIsLeftOut() throws {
        var (reader, failure) = head("HTTP/1.1 200 OK", "ETag: \"a\"", "no name: b", " c", "no colon", "\td", "")
        #expect(failure == nil)
        #expect(try reader.take() == ResponseHead(status: 200, fields: ["ETag": "\"a\""]))
    }

    @Test func aLineThatBeginsWithAReturnIsTheEmptyOne() throws {
        var (reader, failure) = head("HTTP/1.1 200 OK", "a: b", "\rc: d")
        #expect(failure == nil)
        #expect(try reader.take() == ResponseHead(status: 200, fields: ["a": "b"]))
    }

    @Test func aHeadThatIsNotWholeIsNone() {
        for lines in [[], ["HTTP/1.1 200 OK"], ["HTTP/1.1 200 OK", "a: b"]] {
            var reader = HeadReader()
            for line in lines { _ = Array((line + "\r\n").utf8).withUnsafeBytes { reader.add($0) } }
            #expect(throws: TransportFailure.self) { try reader.take() }
        }
    }

    // MARK: The mailbox

    @Test func aFullMailboxHoldsUntilThereIsRoom() {
        var mailbox = Mailbox(isLimited: true) { _ in }
        let piece = TransportEvent.bytes(Data(count: Mailbox.least / 4))
        let starts = (0..<3).map { _ in mailbox.post(piece) }
        #expect(starts == [true, false, false])
        let early = mailbox.holds(with: 0)
        _ = mailbox.post(piece)
        let late = mailbox.holds(with: 0)
        #expect([early, late] == [false, true])
        let frees = (0..<5).map { _ in mailbox.next().frees }
        #expect(frees == [false, false, true, false, false])
    }

    @Test func aTrickleFillsAMailboxAsWell() {
        var mailbox = Mailbox(isLimited: true) { _ in }
        for _ in 0..<(Mailbox.least / Mailbox.leastWeight) { _ = mailbox.post(.bytes(Data([1]))) }
        let holds = mailbox.holds(with: 0)
        #expect(holds)
    }

    @Test func whatIsYetToComeInCounts() {
        var mailbox = Mailbox(isLimited: true) { _ in }
        _ = mailbox.post(.bytes(Data(count: Mailbox.least / 2)))
        let holds = [Mailbox.least / 2 - 1, Mailbox.least / 2].map { mailbox.holds(with: $0) }
        #expect(holds == [false, true])
        // The rest of it.
        _ = mailbox.post(.bytes(Data(count: Mailbox.least / 2)))
        let frees = (0..<3).map { _ in mailbox.next().frees }
        #expect(frees == [false, true, false])
    }

    /// The receiver may say of the very bytes it has in hand that they are too many: until it comes back there is no room.
    @Test func whatTheReceiverHasInHandCounts() {
        var mailbox = Mailbox(isLimited: true) { _ in }
        _ = mailbox.post(.bytes(Data(count: Mailbox.least)))
        let isHandedOver = mailbox.next().step != nil
        let holds = mailbox.holds(with: 0)
        let rest = mailbox.next()
        #expect(isHandedOver && holds)
        #expect(rest.step == nil && rest.frees)
    }

    /// A limit is kept by pauses: who may take much at once gets much, and who has just been paused gets little.
    @Test func aMailboxHoldsAsMuchAsIsTakenWithoutAPause() {
        var mailbox = Mailbox(isLimited: true) { _ in }
        func room() -> Int {
            var (low, high) = (0, 2 * Mailbox.most)
            while low < high {
                let middle = (low + high) / 2
                if mailbox.holds(with: middle) { high = middle } else { low = middle + 1 }
            }
            return low
        }
        let least = room()
        var rooms: [Int] = []
        for _ in 0..<8 {
            _ = mailbox.post(.bytes(Data(count: room())))
            while mailbox.next().step != nil {}
            rooms.append(room())
        }
        mailbox.pause()
        _ = mailbox.resume()
        #expect(least == Mailbox.least && room() == least)
        mailbox = Mailbox(isLimited: false) { _ in }
        #expect(room() == Mailbox.most)
        #expect(rooms == (1...8).map { min(Mailbox.least << $0, Mailbox.most) })
    }

    @Test func aPauseHoldsWhateverIsThere() {
        var mailbox = Mailbox(isLimited: true) { _ in }
        let before = (mailbox.holds(with: 0), mailbox.resume())
        mailbox.pause()
        let paused = (mailbox.holds(with: 0), mailbox.resume(), mailbox.resume())
        #expect(before == (false, false))
        #expect(paused == (true, true, false))
    }

    @Test func onlyTheFirstEndCounts() {
        var mailbox = Mailbox(isLimited: true) { _ in }
        _ = mailbox.post(.bytes(Data([1])))
        let first = mailbox.close(with: .failure(.canceled), dropping: true)
        let second = mailbox.close(with: .end, dropping: false)
        let late = mailbox.post(.bytes(Data([2])))
        #expect(first == (true, false) && second == (false, false) && !late)
        let (event, rest) = (mailbox.next().step?.event, mailbox.next().step)
        guard case .failure? = event, rest == nil else { Issue.record("not one failure"); return }
    }

    // MARK: Gathering

    @Test func whatIsGatheredComesOutAgain() {
        let pool = SlabPool()
        var gatherer = Gatherer(pool)
        var (sent, pieces): ([UInt8], [Data]) = ([], [])
        for round in 0..<400 {
            let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: round), count: round % 7 == 0 ? 100 : 9_000)
            sent += bytes
            bytes.withUnsafeBytes { gatherer.append($0) { pieces.append($0) } }
            if round % 3 == 0, let piece = gatherer.take() { pieces.append(piece) }
        }
        if let piece = gatherer.take() { pieces.append(piece) }
        #expect(gatherer.count == 0)
        #expect(pieces.allSatisfy { !$0.isEmpty && $0.count <= Slab.size })
        #expect(pieces.flatMap { Array($0) } == sent)
    }

    @Test func slabsLieBesideEachOtherAndAreUsedAgain() {
        let pool = SlabPool()
        var slabs = (0..<11).map { _ in pool.take() }
        let places = Set(slabs.map { UInt(bitPattern: $0.memory) })
        for (place, next) in zip(places.sorted(), places.sorted().dropFirst()) {
            #expect(next - place >= UInt(Slab.size) && place % UInt(Slab.size) == 0)
        }
        for slab in slabs { slab.memory.initializeMemory(as: UInt8.self, repeating: 7, count: Slab.size) }
        slabs = []
        #expect(places.count == 11)
        slabs = (0..<11).map { _ in pool.take() }
        #expect(Set(slabs.map { UInt(bitPattern: $0.memory) }) == places)
        // What is out stays as it is.
        pool.drain()
        let (out, new) = (slabs[0].memory, pool.take().memory)
        #expect(!places.contains(UInt(bitPattern: new)) && out.load(as: UInt8.self) == 7)
    }

    @Test func whatComesBackLateIsNotKept() {
        let pool = SlabPool()
        var slabs = (0..<60).map { _ in pool.take() }
        slabs.removeLast(10)
        #expect(pool.idle == 2)
        pool.drain()
        #expect(pool.idle == 0)
        slabs = []
        #expect(pool.idle == 0)
        slabs = (0..<60).map { _ in pool.take() }
        slabs = []
        #expect(pool.idle == 12)
    }

    /// What is small is kept apart while it is all there is.
    @Test(arguments: [[100], [100, 200], [100, 90_000, 3], [16_383, 1], [16_384], [0, 5], [0]])
    func whatComesFirstIsNotMislaid(counts: [Int]) {
        var gatherer = Gatherer(SlabPool())
        gatherer.begin(at: 4097)
        var position = 4097
        // Twice: behind what was taken it goes on in the same way.
        for round in 0..<2 {
            var sent: [UInt8] = []
            for (number, count) in counts.enumerated() {
                let bytes = [UInt8](repeating: UInt8(10 * round + number), count: count)
                sent += bytes
                bytes.withUnsafeBytes { gatherer.append($0) { _ in Issue.record("nothing is full") } }
                #expect(gatherer.count == sent.count)
            }
            let piece = gatherer.take()
            #expect(piece.map { Array($0) } ?? [] == sent)
            #expect((piece == nil) == sent.isEmpty && gatherer.take() == nil)
            if let piece, piece.count >= Gatherer.smallest, counts.count > 1 {
                #expect(piece.withUnsafeBytes { Int(bitPattern: $0.baseAddress) % 4096 } == position % 4096)
            }
            position += sent.count
        }
    }

    /// Whatever lies how in memory, and nothing beside it.
    @Test(arguments: [0, 1, 63, 64, 4095, 4096, 4097, 4159, 4160, 70_001])
    func whatIsCopiedIsTheSame(count: Int) {
        let source = (0..<(count + 64)).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
        for (from, to) in [(0, 0), (1, 0), (0, 1), (3, 61), (63, 15), (17, 64)] {
            var target = [UInt8](repeating: 0xEE, count: count + 256)
            target.withUnsafeMutableBytes { target in
                source.withUnsafeBytes {
                    lanner_curl_copy(target.baseAddress! + 64 + to, $0.baseAddress! + from, count)
                }
            }
            let copied = (64 + to)..<(64 + to + count)
            #expect(target[copied].elementsEqual(source[from..<(from + count)]), "from \(from) to \(to)")
            #expect((target[..<copied.lowerBound] + target[copied.upperBound...]).allSatisfy { $0 == 0xEE })
        }
    }

    /// So that whole blocks of it can be written without a copy.
    @Test(arguments: [0, 1, 5000, 1 << 40 + 4095] as [Int64])
    func whatIsGatheredLiesAsInItsFile(position: Int64) {
        let pool = SlabPool()
        var gatherer = Gatherer(pool)
        gatherer.begin(at: position)
        let bytes = [UInt8](repeating: 7, count: 90_000)
        var (next, large) = (position, 0)
        func look(_ piece: Data) {
            if piece.count >= 16 << 10 {
                large += 1
                let isAsInFile = piece.withUnsafeBytes { Int64(Int(bitPattern: $0.baseAddress) % 4096) == next % 4096 }
                #expect(isAsInFile, "at \(next)")
            }
            next += Int64(piece.count)
        }
        for count in [90_000, 3, 15_000, 90_000, 4096, 700] + Array(repeating: 70_000, count: 40) {
            bytes[..<count].withUnsafeBytes { gatherer.append($0, handOver: look) }
            if count != 90_000, let piece = gatherer.take() { look(piece) }
        }
        #expect(large > 40)
    }
}
