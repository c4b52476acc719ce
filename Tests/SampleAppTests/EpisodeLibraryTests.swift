import Lanner
import LannerTesting
import Testing

/// How an app tests its own downloads: no network, no disk, no waiting.
struct EpisodeLibraryTests {
    let bench: TestBench
    let library: EpisodeLibrary
    let audio = LoopbackServer.Resource(.generated(seed: 1, length: 1_000_000))
    let episode = Episode(title: "Falcons", url: "https://example.com/falcons.mp3")

    init() {
        bench = TestBench()
        bench.transport.serveElsewhere(audio)
        library = EpisodeLibrary(manager: bench.manager)
    }

    @Test func fetchesAnEpisode() {
        #expect(library.state(of: episode) == .absent)
        library.fetch(episode)
        bench.settle()
        #expect(library.state(of: episode) == .ready)
        #expect(bench.disk.contents(of: "/downloads/File/Falcons.mp3") == audio.bytes)
    }

    @Test func waitsForTheNetwork() {
        bench.network.path = .unavailable
        bench.transport.outage = .notConnected
        library.fetch(episode)
        bench.settle()
        #expect(library.state(of: episode) == .waitingForNetwork)
        bench.transport.outage = nil
        bench.network.path = NetworkPath(kind: .wifi)
        bench.runToRest()
        #expect(library.state(of: episode) == .ready)
    }

    @Test func tellsThatTheDiskIsFull() {
        bench.disk.capacity = 500_000
        library.fetch(episode)
        bench.settle()
        #expect(library.state(of: episode) == .failed(.diskFull))
        bench.disk.capacity = nil
        library.fetch(episode)
        bench.settle()
        #expect(library.state(of: episode) == .ready)
    }

    @Test func goesOnWhereItWasPaused() {
        bench.transport.script("/falcons.mp3", .stall(afterBytes: 400_000))
        library.fetch(episode)
        bench.settle()
        library.pause(episode)
        bench.settle()
        #expect(library.state(of: episode) == .paused(percent: 40))
        library.fetch(episode)
        bench.settle()
        #expect(library.state(of: episode) == .ready)
        #expect(bench.transport.requests.last?.fields["Range"] == "bytes=400000-")
    }

    @Test func goesOnAfterARelaunch() {
        bench.transport.script("/falcons.mp3", .stall(afterBytes: 700_000))
        library.fetch(episode)
        bench.run(for: .seconds(2))
        let library = EpisodeLibrary(manager: bench.relaunch())
        #expect(library.state(of: episode) == .paused(percent: 70))
        library.fetch(episode)
        bench.settle()
        #expect(library.state(of: episode) == .ready)
    }

    @Test func refusesADamagedFile() {
        let checked = Episode(title: "Kites", url: "https://example.com/kites.mp3", digest: audio.digest())
        bench.transport.always("/kites.mp3", .corrupt(at: 10))
        library.fetch(checked)
        bench.runToRest()
        #expect(library.state(of: checked) == .failed(.damaged))
        bench.transport.always("/kites.mp3", nil)
        library.fetch(checked)
        bench.settle()
        #expect(library.state(of: checked) == .ready)
    }

    @Test func fetchesOneAfterTheOther() {
        bench.manager.configuration.maxConcurrentTasksLimit = 1
        let episodes = (1...3).map { Episode(title: "\($0)", url: "https://example.com/\($0).mp3") }
        bench.transport.always("/2.mp3", .stall(afterBytes: 500_000))
        episodes.forEach(library.fetch)
        bench.run(for: .seconds(2))
        #expect(episodes.map(library.state) == [.ready, .loading(percent: 50), .queued])
        bench.transport.release()
        bench.settle()
        #expect(episodes.map(library.state) == [.ready, .ready, .ready])
        #expect(bench.transport.requests.map(\.url.path) == ["/1.mp3", "/2.mp3", "/3.mp3"])
    }
}
