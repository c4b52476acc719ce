import LannerMachine
import Testing

/// Each verdict over a header, for the first request and for a later one.
@Suite struct AnswerTests {
    // MARK: The first request

    @Test func aWholeFileIsTaken() {
        var bench = Bench.requesting()
        #expect(
            bench.feed(.head(bench.id, 1, .file())) == [
                .tell(bench.id, .head(.file())), .setTotal(bench.id, 1, 1000),
                .tell(bench.id, .progress(completed: 0, total: 1000)), .accept(bench.id, 1, 0..<1000),
            ])
    }

    @Test func theRestIsTakenAsAsked() {
        var bench = Bench.opening(saved: .holding(0..<100))
        let ask = bench.feed(.opened(bench.id, 1, held: ByteRanges([0..<100]))).asks.first
        #expect(ask?.headerFields["Range"] == "bytes=100-")
        #expect(ask?.headerFields["If-Range"] == "\"a\"")
        #expect(bench.feed(.head(bench.id, 1, .part(100..<1000, of: 1000))).last == .accept(bench.id, 1, 100..<1000))
    }

    @Test func anotherFileIsTakenIntoANewPartialFile() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        let head = ResponseHead.file(500, tag: "\"b\"")
        let actions = bench.feed(.head(bench.id, 1, head))
        #expect(actions.restarts == [.contentChanged])
        #expect(actions.contains(.startOver(bench.id, 2, generation: 2, total: 500)))
        #expect(actions.last == .accept(bench.id, 1, 0..<500))
        #expect(actions.asks.isEmpty)
        #expect(bench.feed(.opened(bench.id, 2, held: ByteRanges())).isEmpty)
        bench.feed(.wrote(bench.id, 2, 0..<500))
        #expect(bench.feed(.ended(bench.id, 1, received: 500)).contains(.verify(bench.id, 2, total: 500)))
    }

    @Test func aServerWithoutRangesIsNamed() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        #expect(bench.feed(.head(bench.id, 1, .file())).restarts == [.rangesNotServed])
    }

    @Test func aPreconditionThatFailedBeginsAnew() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        let actions = bench.feed(.head(bench.id, 1, ResponseHead(status: 412)))
        #expect(actions.restarts == [.contentChanged])
        #expect(actions.first == .stop(bench.id, 1, keepBytes: false))
        #expect(actions.last == .startOver(bench.id, 2, generation: 2, total: nil))
        #expect(bench.feed(.opened(bench.id, 2, held: ByteRanges())).asks == [.whole])
    }

    @Test func nothingIsMissingWhenTheServerSaysSo() {
        var saved = Saved.holding(0..<1000)
        saved.total = nil
        saved.version = Version(
            entityTag: EntityTag("\"a\""), lastModified: nil, isLastModifiedStrong: false, total: nil)
        var bench = Bench.requesting(saved: saved)
        let head = ResponseHead(status: 416, fields: ["Content-Range": "bytes */1000"])
        #expect(bench.feed(.head(bench.id, 1, head)).contains(.verify(bench.id, 1, total: 1000)))
    }

    @Test func anUnusableAnswerIsFollowedByOnePlainRequestAndThenFailure() {
        var bench = Bench.requesting(saved: .holding(0..<100))
        let odd = ResponseHead.part(0..<10, of: 1000)
        #expect(bench.feed(.head(bench.id, 1, odd)).restarts == [.unusableAnswer])
        #expect(bench.feed(.opened(bench.id, 2, held: ByteRanges())).asks == [.whole])
        #expect(bench.feed(.head(bench.id, 2, odd)).contains(.close(bench.id, 2, sync: true)))
        guard case .failed(let failure) = bench.closed(2).phases.last else {
            Issue.record("did not fail")
            return
        }
        #expect(failure.reason == .unusableResponse)
    }

    @Test func aRedirectIsFollowedByANewExchange() {
        var bench = Bench.requesting()
        let head = ResponseHead(status: 302, fields: ["Location": "/b"])
        #expect(bench.feed(.head(bench.id, 1, head)) == [.follow(bench.id, 1, location: "/b")])
        #expect(bench.feed(.redirected(bench.id, 1)) == [.begin(bench.id, 2, .whole)])
        #expect(bench.feed(.ended(bench.id, 1, received: 0)) == [.ignored(bench.id, .unknownExchange(1))])
    }

    @Test func theEndOfARedirectsBodyIsNoFailure() {
        var bench = Bench.requesting()
        bench.feed(.head(bench.id, 1, ResponseHead(status: 302, fields: ["Location": "/b"])))
        #expect(bench.feed(.ended(bench.id, 1, received: 20)) == [.ignored(bench.id, .late("ended"))])
        #expect(bench.feed(.redirected(bench.id, 1)) == [.begin(bench.id, 2, .whole)])
    }

    @Test func twentyRedirectsAreFollowedAndNoMore() {
        var bench = Bench.requesting()
        let head = ResponseHead(status: 302, fields: ["Location": "/b"])
        for number in 1...ExchangeNumber(20) {
            #expect(bench.feed(.head(bench.id, number, head)) == [.follow(bench.id, number, location: "/b")])
            bench.feed(.redirected(bench.id, number))
        }
        bench.feed(.head(bench.id, 21, head))
        guard case .failed(let failure) = bench.closed().phases.last else {
            Issue.record("did not fail")
            return
        }
        #expect(failure.reason == .redirect)
    }

    @Test func aRedirectThatMayNotBeFollowedEndsTheDownload() {
        var bench = Bench.requesting()
        bench.feed(.head(bench.id, 1, ResponseHead(status: 302, fields: ["Location": "ftp://b"])))
        bench.feed(.exchangeFailed(bench.id, 1, Failure(.redirect, "")))
        #expect(bench.closed().phases == [.failed(Failure(.redirect, ""))])
    }

    @Test func aRefusalThatStaysEndsTheDownload() {
        var bench = Bench.requesting()
        let actions = bench.feed(.head(bench.id, 1, ResponseHead(status: 404)))
        #expect(actions.retry == nil)
        #expect(actions == [.stop(bench.id, 1, keepBytes: true), .close(bench.id, 1, sync: true)])
    }

    @Test func anAnswerWithoutAHeaderIsAFailure() {
        var bench = Bench.requesting()
        #expect(bench.feed(.ended(bench.id, 1, received: 0)).contains(.close(bench.id, 1, sync: true)))
    }

    // MARK: Sizes

    @Test func theSizeOfAnotherVersionIsForgotten() {
        // The size of the first version must not be taken for the size of the second, which does not tell its own.
        var bench = Bench.transferring()
        bench.feed(.exchangeFailed(bench.id, 1, Failure(.transport(.connectionLost), "")))
        bench.closed()
        bench.pass(.seconds(1))
        bench.feed(.opened(bench.id, 2, held: ByteRanges()))
        #expect(
            bench.feed(.head(bench.id, 2, .file(nil, tag: "\"b\""))).contains(
                .tell(bench.id, .progress(completed: 0, total: nil))))
        bench.feed(.wrote(bench.id, 2, 0..<1500))
        #expect(bench.feed(.ended(bench.id, 2, received: 1500)).contains(.verify(bench.id, 2, total: 1500)))
    }

    @Test func aPartOfAFileOfUnknownSizeIsNotTheFile() {
        var bench = Bench.requesting(.sliced(100...200))
        #expect(bench.feed(.head(bench.id, 1, .part(0..<100, of: nil))).contains(.stop(bench.id, 1, keepBytes: false)))
        #expect(bench.feed(.opened(bench.id, 2, held: ByteRanges())).asks == [.whole])
    }

    @Test func theEndTellsTheSize() {
        var bench = Bench.transferring(head: .file(nil))
        #expect(bench.feed(.wrote(bench.id, 1, 0..<700)).isEmpty)
        let actions = bench.feed(.ended(bench.id, 1, received: 700))
        #expect(actions.contains(.tell(bench.id, .progress(completed: 700, total: 700))))
        #expect(actions.contains(.verify(bench.id, 1, total: 700)))
    }

    @Test func anEmptyFileIsAFile() {
        var bench = Bench.transferring(head: .file(0))
        #expect(bench.feed(.ended(bench.id, 1, received: 0)).contains(.verify(bench.id, 1, total: 0)))
    }

    @Test func aBodyThatEndsEarlyIsNotTheFile() {
        var bench = Bench.transferring()
        bench.feed(.wrote(bench.id, 1, 0..<400))
        let actions = bench.feed(.ended(bench.id, 1, received: 400))
        #expect(actions.retry?.failure.reason == .transport(.lengthMismatch))
    }

    @Test func countsThatMakeNoSenseDoNoHarm() {
        var bench = Bench.transferring(head: .file(nil))
        bench.feed(.received(bench.id, 1, .max))
        bench.feed(.received(bench.id, 1, .min))
        bench.pass(.milliseconds(1))
        bench.feed(.ended(bench.id, 1, received: .min))
        var other = Bench.transferring(saved: .holding(0..<100), head: .part(100..<1000, of: 1000))
        other.feed(.received(other.id, 1, .max))
        other.feed(.ended(other.id, 1, received: .max))
    }

    // MARK: A later request

    /// The first slice has come, the second is asked for.
    private var slicing: Bench {
        var bench = Bench.transferring(.sliced(100...100), head: .part(0..<100, of: 1000))
        bench.feed(.wrote(bench.id, 1, 0..<100))
        bench.feed(.ended(bench.id, 1, received: 100))
        return bench
    }

    @Test func aLaterSliceOfAnotherVersionBeginsAnew() {
        var bench = slicing
        let actions = bench.feed(.head(bench.id, 2, .part(100..<200, of: 1000, tag: "\"b\"")))
        #expect(actions.restarts == [.contentChanged])
        let asks = bench.feed(.opened(bench.id, 2, held: ByteRanges())).asks
        #expect(asks.first?.range == 0..<100)
        #expect(asks.first?.held == nil)
    }

    @Test func aLaterAnswerWithTheWholeFileIsKept() {
        var bench = slicing
        let actions = bench.feed(.head(bench.id, 2, .file(tag: "\"b\"")))
        #expect(actions.restarts == [.contentChanged])
        #expect(actions.last == .accept(bench.id, 2, 0..<1000))
        #expect(actions.asks.isEmpty)
    }

    @Test func aLaterRefusalIsRetriedWithTheBytesKept() {
        var bench = slicing
        let actions = bench.feed(
            .head(bench.id, 2, ResponseHead(status: 503, fields: ["Retry-After": "100"])))
        #expect(actions.retry?.time == .seconds(100))
        #expect(actions.contains(.close(bench.id, 1, sync: true)))
    }

    @Test func aLaterRedirectIsFollowed() {
        var bench = slicing
        bench.feed(.head(bench.id, 2, ResponseHead(status: 307, fields: ["Location": "/b"])))
        #expect(bench.feed(.received(bench.id, 2, 10)).isOnlyIgnored)
        #expect(bench.feed(.ended(bench.id, 2, received: 10)).isOnlyIgnored)
        let ask = bench.feed(.redirected(bench.id, 2)).asks.first
        #expect(ask?.range == 100..<200)
    }

    @Test func aLaterUnusableAnswerIsFollowedByAPlainRequest() {
        var bench = slicing
        #expect(bench.feed(.head(bench.id, 2, .part(150..<200, of: 1000))).restarts == [.unusableAnswer])
        #expect(bench.feed(.opened(bench.id, 2, held: ByteRanges())).asks == [.whole])
    }

    @Test func aVersionThatNothingTiesIsFetchedPlain() {
        var bench = Bench.requesting(.sliced(100...100))
        bench.feed(.head(bench.id, 1, .part(0..<100, of: 1000, tag: nil)))
        #expect(bench.feed(.opened(bench.id, 2, held: ByteRanges())).asks == [.whole])
    }
}
