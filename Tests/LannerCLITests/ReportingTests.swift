import Foundation
import Lanner
import ProgramSupport
import Testing

@testable import LannerCLI

/// A report of a download of `http://127.0.0.1/NAME` into the directory `d`.
func report(
    _ event: DownloadReport.Event, _ standing: Standing = Standing(), name: String = "x", index: Int = 0
) throws -> DownloadReport {
    let url = "http://127.0.0.1/\(index)"
    let item = GetPlan.Item(url: try #require(URL(string: url)), shownURL: url, name: name, path: "d/" + name)
    return DownloadReport(index: index, item: item, event: event, standing: standing)
}

@Suite struct BarTests {
    let half = Standing(bytes: 32_000_000, total: 64_000_000, speed: 12_345_678, timeLeft: 65)

    @Test(arguments: [
        (80, " 50% [========        ]  64.0 MB  12.3 MB/s   01:05 file.bin"),
        (70, " 50%  64.0 MB  12.3 MB/s   01:05 file.bin"),
        (50, " 50%  64.0 MB  12.3 MB/s file.bin"),
        (34, " 50%  64.0 MB file.bin"),
        (20, " 50%  64.0 MB file.…"),
        (10, " 50%  64.…"),
        (1, "…"),
    ])
    func fitsTheWidth(_ width: Int, _ line: String) {
        #expect(Bar.line(half, label: "file.bin", width: width) == line)
    }

    @Test(arguments: 1...200) func isNeverWider(_ width: Int) {
        let label = String(repeating: "漢字 x", count: 30)
        #expect(Bar.columns(of: Bar.line(half, label: label, width: width)) <= width)
    }

    @Test(arguments: [
        ("", 0), ("aé…", 3), ("漢字", 4), ("🚀✅🇩🇪", 6), ("⚡⏰🫠👍🏽", 8), ("❤\u{FE0F}", 2), ("❤", 1),
    ])
    func countsColumns(_ text: String, _ columns: Int) {
        #expect(Bar.columns(of: text) == columns)
    }

    @Test func showsWhatIsNotKnown() {
        let line = Bar.line(Standing(bytes: 1500), label: "x", width: 80)
        #expect(line == "   - [                ]   1.5 kB      0 B/s   --:-- x")
    }

    @Test func showsMoreThanAll() {
        #expect(Bar.line(Standing(bytes: 20, total: 10), label: "x", width: 30).hasPrefix("100%"))
        #expect(Bar.line(Standing(bytes: 0, total: 0), label: "x", width: 30).hasPrefix("   -"))
    }

    @Test func escapesLabels() {
        #expect(Bar.line(half, label: "a\u{1B}[2Jb", width: 60).hasSuffix(#"a\u{1B}[2Jb"#))
    }
}

@Suite struct BoardTests {
    let terminal = Terminal(width: 60, height: 24)

    @Test func showsWhatRunsAndATotal() throws {
        var board = Board(count: 3)
        #expect(board.lines(terminal).isEmpty)
        board.take(try report(.start, Standing(bytes: 0, total: 100), name: "b", index: 1))
        board.take(try report(.start, Standing(bytes: 50, total: 100, speed: 10), name: "a", index: 0))
        #expect(
            board.lines(terminal) == [
                " 50%    100 B     10 B/s   00:00 a",
                "  0%    100 B      0 B/s   --:-- b",
                "   -     50 B     10 B/s   --:-- total: 0/3 done",
            ])
        board.take(try report(.done(isVerified: false), Standing(bytes: 100, total: 100), name: "b", index: 1))
        let trouble = Trouble(code: "c", reason: "d", exitCode: .failure)
        board.take(try report(.failed(trouble), name: "c", index: 2))
        #expect(
            board.lines(terminal) == [
                " 50%    100 B     10 B/s   00:00 a",
                " 75%    200 B     10 B/s   00:05 total: 1/3 done, 1 failed",
            ])
        board.take(try report(.suspended, name: "a", index: 0))
        #expect(board.lines(terminal).isEmpty)
    }

    @Test func keepsToTheHeight() throws {
        var board = Board(count: 100)
        for index in 0..<100 { board.take(try report(.start, index: index)) }
        #expect(board.lines(Terminal(width: 80, height: 10)).count == 9)
        #expect(board.lines(Terminal(width: 1, height: 3)).count == 2)
        let total = board.lines(Terminal(width: 80, height: 2))
        #expect(total.count == 1 && total.first?.hasSuffix("total: 0/100 done") == true)
        #expect(board.lines(Terminal(width: 80, height: 1)).isEmpty)
    }

    @Test func keepsToTheHeightWithOne() throws {
        var board = Board(count: 1)
        board.take(try report(.start))
        #expect(board.lines(Terminal(width: 80, height: 2)).count == 1)
        #expect(board.lines(Terminal(width: 80, height: 1)).isEmpty)
    }

    @Test func survivesAnyClaimOfAServer() throws {
        let most = Standing(bytes: .max, total: .max, speed: .max, timeLeft: .max)
        var board = Board(count: 4)
        for index in 0..<4 { board.take(try report(.progress, most, index: index)) }
        let total = try #require(board.lines(terminal).last)
        #expect(total.hasPrefix("100%"))
        #expect(total.hasSuffix("total: 0/4 done"))
        for index in 0..<3 { board.take(try report(.done(isVerified: false), most, index: index)) }
        #expect(board.lines(terminal).last?.hasSuffix("total: 3/4 done") == true)
    }

    @Test func needsNoTotalForOne() throws {
        var board = Board(count: 1)
        board.take(try report(.progress))
        #expect(board.lines(terminal).count == 1)
    }

    @Test func drawsInPlace() {
        #expect(LiveBars.frame([], above: [], over: 0).isEmpty)
        #expect(LiveBars.frame(["a", "b"], above: [], over: 0) == "\ra\u{1B}[K\nb\u{1B}[K\n\u{1B}[J")
        #expect(LiveBars.frame(["a"], above: ["done"], over: 2) == "\u{1B}[2A\rdone\u{1B}[K\na\u{1B}[K\n\u{1B}[J")
        #expect(LiveBars.frame([], above: [], over: 2) == "\u{1B}[2A\r\u{1B}[J")
    }
}

@Suite struct JSONLinesTests {
    static let trouble = Trouble(code: "status.404", reason: "a \"b\"\n\\", exitCode: .failure)

    @Test func keepsItsForm() throws {
        let line = JSONLines.line(try report(.progress, Standing(bytes: 5, total: 10, speed: 2)))
        #expect(
            line == #"{"bytes":5,"event":"progress","file":"d/x","speed":2,"total":10,"url":"http://127.0.0.1/0"}"#)
        let end = JSONLines.line(try report(.done(isVerified: true), Standing(bytes: 5)))
        #expect(end.contains(#""total":null"#))
        #expect(end.contains(#""verified":true"#))
    }

    @Test(arguments: [.readerGone, .told] as [Console.Failure])
    func writesNothingBehindAFailure(_ failure: Console.Failure) throws {
        let (lines, failures) = (Locked(0), Locked<[Console.Failure]>([]))
        let reporter = JSONLines(
            write: { _ in
                lines.withLock { lines in
                    lines += 1
                    return lines == 1 ? nil : failure
                }
            },
            onFailure: { failure in failures.withLock { $0.append(failure) } })
        for _ in 0..<4 { reporter.report(try report(.progress)) }
        #expect(lines.withLock { $0 } == 2)
        #expect(failures.withLock { $0 } == [failure])
    }

    @Test func tellsNoPasswords() throws {
        let plan = try GetPlan(GetOptions(urls: ["http://me:secret@127.0.0.1/x?y=z"]))
        let item = try #require(plan.items.first)
        let line = JSONLines.line(DownloadReport(index: 0, item: item, event: .start, standing: Standing()))
        #expect(line.contains(#""url":"http://127.0.0.1/x?y=z""#))
    }

    @Test(
        arguments: [
            (.start, "start", []),
            (.progress, "progress", []),
            (.done(isVerified: false), "done", ["verified"]),
            (.skipped(isVerified: true), "skipped", ["verified"]),
            (.restarted(.contentChanged), "restarted", ["code"]),
            (.retrying(trouble, after: .milliseconds(1500)), "retrying", ["code", "detail", "delay"]),
            (.suspended, "suspended", []),
            (.failed(trouble), "failed", ["code", "detail"]),
        ] as [(DownloadReport.Event, String, Set<String>)])
    func hasStableKeys(_ event: DownloadReport.Event, _ name: String, _ keys: Set<String>) throws {
        let line = JSONLines.line(try report(event, name: "a\"\n\u{1F600}/b"))
        #expect(!line.contains("\n"))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(Set(object.keys) == keys.union(["event", "url", "file", "bytes", "total", "speed"]))
        #expect(object["event"] as? String == name)
        #expect(object["file"] as? String == "d/a\"\n\u{1F600}/b")
        if keys.contains("detail") { #expect(object["detail"] as? String == Self.trouble.detail) }
        if keys.contains("delay") { #expect(object["delay"] as? Double == 1.5) }
    }
}

@Suite struct WordingTests {
    static let trouble = Trouble(code: "c", reason: "no answer", advice: "wait", exitCode: .failure)

    @Test(
        arguments: [
            (.start, Standing(), "x: begins"),
            (.start, Standing(bytes: 1500), "x: goes on at 1.5 kB"),
            (
                .progress, Standing(bytes: 500, total: 1000, speed: 100, timeLeft: 5),
                "x: 50%, 500 B of 1.0 kB, 100 B/s, 00:05 left"
            ),
            (.progress, Standing(bytes: 500), "x: 500 B, 0 B/s"),
            (.done(isVerified: true), Standing(bytes: 7), "x: done, 7 B, checksum right"),
            (.skipped(isVerified: true), Standing(bytes: 7), "x: is there already, checksum right"),
            (
                .skipped(isVerified: false), Standing(bytes: 7),
                "x: is there already, from a call that is not all done; remove it to have it anew"
            ),
            (
                .restarted(.rangesNotServed), Standing(),
                "x: gives up what it has: the server sends the file only as a whole, or no usable part"
            ),
            (
                .restarted(.wrongDigest), Standing(),
                "x: gives up what it has: the bytes do not have the expected checksum"
            ),
            (.retrying(trouble, after: .zero), Standing(), "x: goes on in another way at once: no answer"),
            (.retrying(trouble, after: .milliseconds(1960)), Standing(), "x: tries again in 2.0 s: no answer"),
            (.retrying(trouble, after: .seconds(61)), Standing(), "x: tries again in 61 s: no answer"),
            (.suspended, Standing(bytes: 7), "x: stopped at 7 B"),
            (.suspended, Standing(bytes: 7, goesOn: false), "x: stopped at 7 B, and has to begin anew"),
            // As all of a long list that have not begun.
            (.suspended, Standing(), nil),
            (.failed(trouble), Standing(), "lanner: http://127.0.0.1/0: no answer; wait"),
        ] as [(DownloadReport.Event, Standing, String?)])
    func words(_ event: DownloadReport.Event, _ standing: Standing, _ line: String?) throws {
        #expect(Wording.line(try report(event, standing)) == line)
    }
}

@Suite struct UpdateIntervalTests {
    @Test func letsOneThroughInEachInterval() {
        let start = ContinuousClock.now
        var updates = UpdateInterval(interval: .seconds(1), since: start)
        let admitted = [0, 500, 1000, 1500, 1999, 2000, 9000].map { updates.admits(at: start + .milliseconds($0)) }
        #expect(admitted == [false, false, true, false, false, true, true])
    }
}
