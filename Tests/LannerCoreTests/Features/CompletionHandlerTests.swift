import Foundation
import LannerTesting
import Testing

@testable import LannerCore

/// T3-24: the handler with which the system has woken the app.
@Suite struct CompletionHandlerTests {
    private let calls = Tally()

    private func bench(_ traits: TransportTraits = .background) -> TestBench {
        TestBench.serving(large, traits: traits)
    }

    private func set(_ name: String, on bench: TestBench) {
        bench.manager.completionHandler = { [calls, lanes = bench.lanes] in
            calls.add("\(name) on \(lanes.current ?? "no lane")")
        }
    }

    /// A relaunch for a download that has ended while the process was away.
    private func woken() throws -> TestBench {
        let bench = bench()
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.relaunch { bench.transport.release() }
        return bench
    }

    @Test("T3-24: it is called once, on the main queue, when the files are in their places") func afterTheFiles() throws
    {
        let bench = try woken()
        set("first", on: bench)
        #expect(bench.manager.completionHandler != nil)
        while calls.all.isEmpty, bench.lanes.runNext() {}
        #expect(calls.all == ["first on main"])
        #expect(bench.manager.fetchTask(address)?.status == .succeeded)
        #expect(bench.manager.completionHandler == nil)
        bench.transport.tellDelivered()
        bench.run(for: .seconds(60))
        #expect(calls.all.count == 1)
    }

    @Test("T3-24: and so it is when it is set after all that") func setLater() throws {
        let bench = try woken()
        bench.settle()
        set("first", on: bench)
        #expect(calls.all == [], "not inside the call")
        bench.settle()
        #expect(calls.all == ["first on main"])
    }

    @Test("T3-24: each wake has its own") func again() throws {
        let bench = try woken()
        set("first", on: bench)
        bench.settle()
        set("second", on: bench)
        bench.settle()
        #expect(calls.all.count == 1, "nothing has been delivered since")
        bench.transport.tellDelivered()
        bench.settle()
        #expect(calls.all == ["first on main", "second on main"])
    }

    @Test("T3-24: what was delivered long before, for none, does not count") func longBefore() throws {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.transport.tellDelivered()
        bench.run(for: .seconds(21))
        set("first", on: bench)
        bench.settle()
        #expect(calls.all == [] && task.status == .running)
        bench.transport.tellDelivered()
        bench.settle()
        #expect(calls.all == ["first on main"])
    }

    @Test("T3-24: nobody waits for long") func late() throws {
        let bench = try woken()
        set("first", on: bench)
        bench.settle()
        set("second", on: bench)
        bench.run(for: .seconds(19))
        #expect(calls.all.count == 1)
        bench.run(for: .seconds(2))
        #expect(calls.all.count == 2)
    }

    @Test("T3-24: the next request is out by then") func handsOverTheNext() throws {
        let bench = bench()
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 1
        configuration.resumesAtLaunch = true
        bench.manager.configuration = configuration
        _ = try bench.download(.stall(afterBytes: 1 << 20))
        bench.transport.script("/next", .hold)
        bench.manager.download("https://example.com/next")
        bench.settle()
        bench.relaunch { bench.transport.release() }
        set("first", on: bench)
        while calls.all.isEmpty, bench.lanes.runNext() {}
        #expect(bench.transport.requests.map(\.url.path) == [place, "/next"])
    }

    @Test("T3-24: with nothing to deliver it is called at once") func nothingToDeliver() {
        for traits in [TransportTraits(delivery: .pausable), .background] {
            let bench = bench(traits)
            set("first", on: bench)
            bench.settle()
            #expect(calls.all == ["first on main"])
            calls.clear()
        }
    }

    @Test("T3-24: a transfer that goes on does not hold it up") func whileRunning() throws {
        let bench = bench()
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        set("first", on: bench)
        bench.settle()
        #expect(calls.all == ["first on main"])
        #expect(task.status == .running)
    }

    @Test("T3-24: the end of the manager calls it") func invalidated() throws {
        let bench = try woken()
        set("first", on: bench)
        bench.manager.invalidate()
        bench.settle()
        #expect(calls.all == ["first on main"])
        set("second", on: bench)
        bench.settle()
        #expect(calls.all == ["first on main", "second on main"])
    }

    @Test("T3-24: one that is replaced is called then, unless by nil") func replaced() throws {
        let bench = try woken()
        set("first", on: bench)
        set("second", on: bench)
        #expect(calls.all == [], "not inside the call")
        bench.settle()
        #expect(calls.all == ["first on main", "second on main"])
        set("third", on: bench)
        bench.manager.completionHandler = nil
        bench.transport.tellDelivered()
        bench.run(for: .seconds(60))
        #expect(calls.all == ["first on main", "second on main"])
    }
}
