import Foundation
import LannerCore
import LannerLoopback
import Testing
import TransportSupport

@testable import LannerURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct BackgroundSessionTests {
    private let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("lanner-\(UUID().uuidString)", isDirectory: true)

    private func session() -> BackgroundSession {
        BackgroundSession.shared(UUID().uuidString, directory: directory) { .quiet(connectionsPerHost: 1) }
    }

    /// A task that nobody has resumed.
    private func task(_ name: String, _ url: URL) -> URLSessionDownloadTask {
        let task = URLSession(configuration: .quiet(connectionsPerHost: 1)).downloadTask(with: url)
        task.taskDescription = name
        return task
    }

    /// Returns once the session has done what it was asked for, its listing included.
    private func pass(_ session: BackgroundSession) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            session.cancel("none", for: Attendance(receive: { _ in continuation.resume() }, canceling: { _ in }))
        }
    }

    /// What a session tells a listener from now on.
    private func reports(
        of session: BackgroundSession, for owner: BackgroundSession.Owner? = nil
    ) -> AsyncStream<[String]> {
        let (reports, teller) = AsyncStream<[String]>.makeStream()
        session.recover(for: owner ?? session.makeOwner()) { recovery in
            switch recovery {
            case .survivors(let survivors): teller.yield(["survivors"] + survivors.map { "\($0.name) \($0.progress)" })
            case .delivered: teller.yield(["delivered"])
            }
        }
        return reports
    }

    private func heard(_ reports: AsyncStream<[String]>, upTo last: [String]) async -> [[String]] {
        var heard: [[String]] = []
        for await report in reports {
            heard.append(report)
            if report == last { break }
        }
        return heard
    }

    /// A listener holds up whatever is told, and leaves meanwhile.
    private func holdUp(_ session: BackgroundSession, until gate: Turnstile) async {
        let owner = session.makeOwner()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            session.recover(for: owner) { recovery in
                guard case .survivors = recovery else { return }
                continuation.resume()
                gate.pass()
            }
        }
        session.stopListening(owner)
    }

    @Test func whatHasSurvivedIsToldBeforeAllIsDelivered() async {
        let session = session()
        let gate = Turnstile()
        defer { gate.open() }
        await holdUp(session, until: gate)
        session.finished()
        let reports = reports(of: session)
        await pass(session)
        gate.open()
        #expect(await heard(reports, upTo: ["delivered"]) == [["survivors"], ["delivered"]])
    }

    /// One that leaves before it was told anything is not told later, in the place of others.
    @Test(arguments: [false, true]) func whoLeavesBeforeItsTurnDoesNotListen(comesBefore: Bool) async {
        let session = session()
        let gate = Turnstile()
        defer { gate.open() }
        await holdUp(session, until: gate)
        let (told, leaving) = (Locked(0), session.makeOwner())
        session.recover(for: leaving) { _ in told.withLock { $0 += 1 } }
        await pass(session)
        session.stopListening(leaving)
        // What was to tell the one finds the other.
        let early = comesBefore ? reports(of: session) : nil
        session.finished()
        gate.open()
        let reports = early ?? reports(of: session)
        #expect(await heard(reports, upTo: ["delivered"]) == [["survivors"], ["delivered"]])
        #expect(told.withLock { $0 } == 0)
    }

    @Test func whatHasEndedUnattendedIsReportedBeforeAllIsDelivered() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let session = session()
        let owner = session.makeOwner()
        let reports = reports(of: session, for: owner)
        #expect(await heard(reports, upTo: ["survivors"]) == [["survivors"]])
        let url = try #require(URL(string: "http://a.example/file"))
        let exchange = try #require(session.exchange(of: task("a-1-1", url)))
        try FinishedTask(in: directory).end(exchange)
        session.finished()
        let expected = [["survivors", "a-1-1 running"], ["survivors", "a-1-1 ended"], ["delivered"]]
        #expect(await heard(reports, upTo: ["delivered"]) == expected)
        let recorder = Recorder()
        let attendance = Attendance(receive: recorder.receive, canceling: { _ in })
        session.begin(URLRequest(url: url), resumeData: nil, name: "a-1-1", of: owner, for: attendance)
        #expect(await recorder.end().hasFile(FinishedTask.bytes))
        session.finished()
        #expect(await heard(reports, upTo: ["delivered"]) == [["delivered"]], "somebody has taken it up")
    }

    /// One that was broken off stops what was adopted, and that only when it is taken up.
    @Test func whatWasInterruptedIsNotReportedAgain() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let session = session()
        let reports = reports(of: session)
        #expect(await heard(reports, upTo: ["survivors"]) == [["survivors"]])
        let url = try #require(URL(string: "http://a.example/file"))
        let exchange = try #require(session.exchange(of: task("a-1-1", url)))
        exchange.ended(NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled), response: nil)
        #expect(exchange.progress == .interrupted)
        session.finished()
        #expect(await heard(reports, upTo: ["delivered"]) == [["survivors", "a-1-1 running"], ["delivered"]])
    }

    /// Nothing can be read of a device that was not unlocked since it has started, and all of it can be removed.
    @Test func whatCannotBeReadNowIsLeftForTheNext() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let shelf = OutcomeShelf(directory: directory)
        for name in ["a-1-1", "a-1-2"] {
            let body = directory.appendingPathComponent("body")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try Data([1]).write(to: body)
            try shelf.keep(body, name)
        }
        let note = directory.appendingPathComponent("a-1-1.outcome")
        try FileManager.default.createDirectory(at: note, withIntermediateDirectories: true)
        let session = session()
        await pass(session)
        #expect(shelf.hasFile("a-1-1") && !shelf.hasFile("a-1-2"))
        try FileManager.default.removeItem(at: note)
        shelf.keep(OutcomeShelf.Outcome(head: nil), "a-1-1")
        #expect(await heard(reports(of: session), upTo: ["survivors", "a-1-1 ended"]).count == 1)
    }

    /// As a death leaves it that comes just after the task was made.
    @Test func aTaskThatWasNeverResumedGoesOn() async throws {
        let server = try LoopbackServer()
        server.put("/file", LoopbackServer.Resource(.generated(seed: 1, length: 10)))
        server.always("/file", .hold)
        let session = session()
        // From here on only this test lists anything.
        await pass(session)
        let task = task("a-1-1", server.url("/file"))
        session.list([task])
        try #require(task.state == .running)
        try await server.waitForStalls(1)
        session.discard("a-1-1", of: session.makeOwner())
        await pass(session)
    }

    /// The system says only later that it was canceled.
    @Test func whatWasDiscardedStaysSo() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let session = session()
        await pass(session)
        let task = task("a-1-1", try #require(URL(string: "http://a.example/file")))
        let exchange = try #require(session.exchange(of: task))
        exchange.ended(NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled), response: nil)
        try #require(exchange.progress == .interrupted)
        session.discard("a-1-1", of: session.makeOwner())
        await pass(session)
        #expect(session.exchange(of: task) == nil)
    }

    /// As that of an app extension does, whose tasks would end the process, and of which the system may tell nothing.
    @Test func aSessionThatHasEndedBeginsNothing() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let session = session()
        let reports = reports(of: session)
        session.end()
        let recorder = Recorder()
        let request = URLRequest(url: try #require(URL(string: "http://a.example/file")))
        let attendance = Attendance(receive: recorder.receive, canceling: { _ in })
        session.begin(request, resumeData: nil, name: "a-1-1", of: session.makeOwner(), for: attendance)
        #expect(await recorder.end().failure?.fault == .unavailable)
        #expect(await heard(reports, upTo: ["survivors"]) == [["survivors"]])
    }

    @Test func whatRunsInASessionThatEndsIsOver() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let session = session()
        await pass(session)
        let url = try #require(URL(string: "http://a.example/file"))
        try #require(session.exchange(of: task("a-1-1", url)) != nil)
        let recorder = Recorder()
        let attendance = Attendance(receive: recorder.receive, canceling: { _ in })
        session.begin(URLRequest(url: url), resumeData: nil, name: "a-1-1", of: session.makeOwner(), for: attendance)
        session.end()
        #expect(await recorder.end().failure?.fault == .unavailable)
    }

    /// A second manager of the identifier would take what the first one has for leftovers.
    @Test func whatOneHasIsNoOtherOnes() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let session = session()
        let (first, second) = (session.makeOwner(), session.makeOwner())
        let reports = reports(of: session, for: first)
        #expect(await heard(reports, upTo: ["survivors"]) == [["survivors"]])
        let url = try #require(URL(string: "http://a.example/file"))
        let exchange = try #require(session.exchange(of: task("a-1-1", url)))
        let later = self.reports(of: session, for: second)
        session.discard("a-1-1", of: second)
        let recorder = Recorder()
        let attendance = Attendance(receive: recorder.receive, canceling: { _ in })
        session.begin(URLRequest(url: url), resumeData: nil, name: "b-1-1", of: second, for: attendance)
        #expect(await recorder.end().failure?.fault == .unavailable)
        try FinishedTask(in: directory).end(exchange)
        session.finished()
        #expect(await heard(reports, upTo: ["delivered"]).last == ["delivered"])
        session.stopListening(first)
        #expect(await heard(later, upTo: ["survivors", "a-1-1 ended"]) == [["survivors", "a-1-1 ended"]])
        session.discard("a-1-1", of: second)
        await pass(session)
    }
}
