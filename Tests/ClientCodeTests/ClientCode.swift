import ClientModel
import Lanner
import LannerTesting

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

/// A parameter of that name is the caller's.
func load<Success, Failure: Error>(_ body: () throws(Failure) -> Success) -> Result<Success, Failure> {
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
}
