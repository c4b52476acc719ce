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

enum State { case idle, loading }
enum Event { case tapped }
enum Action { case load }
struct Machine { var state = State.idle }
struct Download { var id: Int }
struct Settings { var limit = 3 }
struct Verb { var text = "" }
struct Engine {}
