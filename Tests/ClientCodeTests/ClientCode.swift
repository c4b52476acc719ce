import ClientModel
import Lanner
import LannerTesting
import Observation

// Code as applications have it, beside an `import Lanner`: the standard names must keep their meaning. That this file
// compiles is the test.

struct Episode: Hashable {
    var title: String

    func hash(into hasher: inout Hasher) {
        hasher.combine(title)
    }
}

struct Countdown {
    var clock: any Clock<Duration> = ContinuousClock()

    func elapsed() async -> Duration {
        await clock.measure { await Task { Episode(title: "one").hashValue }.value == 0 ? () : () }
    }
}

/// Names of another module that Lanner must not export as well.
struct Screen {
    var state = State.idle
    var event = Event.tapped
    var action = Action.load
    var phase = Phase.first
    var notice = Notice.news
    var result: Result<Int, Failure> = .failure(Failure())
    var handler: Handler<Int> = { _ in }
    var callback = Callback()
    var callbacks = Callbacks()
    var machine = Machine()
    var engine = Engine()
    var job = Job()
    var download = Download()
    var attempt = Attempt()
    var exchange = Exchange()
    var transfer = Transfer()
    var settings = Settings()
    var verb = Verb()
    var version = Version()
    var origin = Origin()
    var record = Record()
    var environment = Environment()
}

/// The macro speaks of the module `Observation`, which no type may hide.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
@Observable final class EpisodeModel {
    var finished = 0
}

/// A view: what it has is the main actor's, and so are the closures that use it.
@MainActor final class EpisodeView {
    private(set) var lines: [String] = []
    private var observations: [EventObservation] = []

    func show(_ url: String, by manager: SessionManager) {
        manager.progress { [weak self] _ in self?.lines.append("all") }
        manager.taskCompletion { self.lines.append("ended \($0.status)") }
        manager.totalSuspend { _ in self.lines.append("suspended") }
        guard let task = manager.download(url, handler: { _ in self.lines.append("started") }) else { return }
        task.progress { self.lines.append("\($0.completedBytes)") }.completion { self.lines.append("\($0.status)") }
        [task].validateFile(codes: [""], type: .md5) { self.lines.append("\($0.validation)") }
        observations = [
            task.observe { if case .status(let status) = $0 { self.lines.append("is \(status)") } },
            manager.observe { if case .added = $0 { self.lines.append("added") } },
            [task].group.observe { self.lines.append("\($0.fractionCompleted)") },
        ]
    }

    func remove(_ url: String, from manager: SessionManager) {
        manager.remove(url, completely: true) { [weak self] _ in self?.lines.append("gone") }
    }
}

/// A parameter of that name is the caller's.
func load<Success, Failure: Error>(_ body: () throws(Failure) -> Success) -> Result<Success, Failure> {
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
}
