import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Downloads stop without a network that they may use, and go on with one.
@Suite struct NetworkTests {
    private let cellular = NetworkPath(kind: .cellular, isExpensive: true)

    /// Two run, the first with a part of its file, and one waits.
    private func bench(
        _ bytes: [UInt8] = large, part: Int64 = 1 << 20, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) -> TestBench {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = 2
        configuration.retryPolicy = .never
        change(&configuration)
        let bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init(bytes))
        bench.network.path = NetworkPath(kind: .wifi)
        bench.transport.script("/0", .stall(afterBytes: part))
        bench.transport.script("/1", .hold)
        bench.manager.multiDownload((0..<3).map { "https://example.com/\($0)" })
        bench.settle()
        return bench
    }

    private func statuses(_ bench: TestBench) -> [Status] { bench.manager.tasks.map(\.status) }

    @Test func everythingStopsAndGoesOnByItself() throws {
        let bench = bench()
        bench.network.path = .unavailable
        bench.settle()
        #expect(bench.transport.underway == 0)
        #expect(statuses(bench) == [.waiting, .waiting, .waiting])
        #expect(bench.manager.tasks.map(\.waitingReason) == [.network, .network, .network])
        #expect(bench.manager.status == .running, "it waits, and is not at rest")
        bench.run(for: .seconds(3600))
        #expect(bench.transport.requests.count == 2, "nothing is tried meanwhile")
        bench.network.path = NetworkPath(kind: .wifi)
        #expect(bench.runToRest())
        #expect(statuses(bench) == [.succeeded, .succeeded, .succeeded], "no attempt was counted: none was left")
        let again = try #require(bench.transport.requests.dropFirst(2).first { $0.url.path == "/0" })
        #expect(again.fields["Range"] == "bytes=1048576-", "the bytes were kept")
    }

    @Test func aForbiddenKindIsNoNetwork() {
        let bench = bench()
        bench.network.path = cellular
        bench.settle()
        #expect(bench.manager.tasks.map(\.waitingReason) == [.network, .network, .network])
        #expect(bench.transport.underway == 0)
        bench.manager.configuration.allowsCellularAccess = true
        #expect(bench.runToRest())
        #expect(statuses(bench) == [.succeeded, .succeeded, .succeeded])
        #expect(bench.transport.requests.last?.networkAccess.cellular == true)
    }

    @Test func aLowerLimitHoldsForWhomTheSameChangeLetsRun() {
        let bench = bench()
        bench.network.path = cellular
        bench.settle()
        var configuration = bench.manager.configuration
        (configuration.maxConcurrentTasksLimit, configuration.allowsCellularAccess) = (1, true)
        bench.transport.script("/0", .hold)
        bench.manager.configuration = configuration
        bench.settle()
        #expect(statuses(bench) == [.running, .waiting, .waiting])
        #expect(bench.transport.requests.count == 3, "nobody else was let run for a moment")
    }

    @Test(arguments: [
        NetworkPath(kind: .cellular), NetworkPath(kind: .wifi, isExpensive: true),
        NetworkPath(kind: .wifi, isConstrained: true),
    ])
    func theConfigurationAppliesAtOnce(path: NetworkPath) {
        let bench = bench { $0.allowsCellularAccess = true }
        bench.network.path = path
        bench.settle()
        #expect(statuses(bench) == [.running, .running, .waiting], "all is allowed")
        #expect(bench.manager.tasks.last?.waitingReason == .slot)
        var configuration = bench.manager.configuration
        configuration.allowsCellularAccess = path.kind != .cellular
        configuration.allowsExpensiveNetworkAccess = !path.isExpensive
        configuration.allowsConstrainedNetworkAccess = !path.isConstrained
        bench.manager.configuration = configuration
        // In the same breath.
        let late = bench.manager.download("https://example.com/late")
        bench.settle()
        #expect(bench.transport.underway == 0)
        #expect(statuses(bench) == [.waiting, .waiting, .waiting, .waiting])
        #expect(late?.waitingReason == .network)
        configuration.allowsCellularAccess = true
        configuration.allowsExpensiveNetworkAccess = true
        configuration.allowsConstrainedNetworkAccess = true
        bench.manager.configuration = configuration
        #expect(bench.runToRest())
        #expect(bench.manager.succeededTasks.count == 4)
    }

    @Test func anotherNetworkThatMayBeUsedStopsNobody() {
        let bench = bench()
        bench.network.path = NetworkPath(kind: .wired)
        bench.settle()
        #expect(statuses(bench) == [.running, .running, .waiting])
        #expect(bench.transport.requests.count == 2)
    }

    @Test func aMonitorThatTellsNothingHoldsNobodyBack() throws {
        let bench = TestBench.serving([1, 2, 3])
        let task = try bench.download()
        bench.settle()
        #expect(task.status == .succeeded)
        #expect(bench.network.watchCount == 1)
        bench.manager.invalidate()
        #expect(bench.network.watchCount == 0)
    }

    @Test func everyHandlerIsCalledOnce() throws {
        let bench = bench()
        let calls = Tally()
        let tasks = bench.manager.tasks
        for (index, task) in tasks.enumerated() {
            task.success { _ in calls.add("success \(index)") }.failure { _ in calls.add("failure \(index)") }
        }
        bench.network.path = .unavailable
        // While its file is being closed, and while it waits.
        bench.manager.suspend(tasks[0]) { calls.add("suspended \($0.status.rawValue)") }
        bench.settle()
        bench.manager.suspend(tasks[1]) { calls.add("suspended \($0.status.rawValue)") }
        bench.manager.cancel(tasks[2]) { calls.add("canceled \($0.status.rawValue)") }
        bench.settle()
        #expect(
            calls.all.sorted() == [
                "canceled canceled", "failure 0", "failure 1", "failure 2", "suspended suspended",
                "suspended suspended",
            ])
        #expect(bench.manager.status == .suspended)
        bench.manager.start(tasks[0]) { calls.add("started \($0.status.rawValue)") }
        bench.settle()
        #expect(calls.all.last == "started waiting")
        #expect(tasks[0].waitingReason == .network)
        bench.network.path = NetworkPath()
        bench.runToRest()
        #expect(calls.all.filter { $0.hasPrefix("success") } == ["success 0"])
        #expect(statuses(bench) == [.succeeded, .suspended])
    }

    @Test func totalsAreRightWithoutANetwork() {
        let bench = bench()
        bench.network.path = .unavailable
        bench.settle()
        let calls = Tally()
        bench.manager.totalSuspend { calls.add($0.status.rawValue) }
        bench.settle()
        bench.manager.totalStart { calls.add($0.status.rawValue) }
        bench.settle()
        #expect(calls.all == ["suspended", "running"])
        #expect(bench.manager.tasks.allSatisfy { $0.waitingReason == .network })
        bench.network.path = NetworkPath()
        #expect(bench.runToRest())
        #expect(bench.manager.status == .succeeded)
    }

    @Test func aLaunchWithoutANetworkWaitsForOne() throws {
        let bench = bench { $0.resumesAtLaunch = true }
        bench.network.path = .unavailable
        bench.relaunch()
        bench.settle()
        #expect(bench.network.watchCount == 1)
        #expect(bench.manager.tasks.map(\.waitingReason) == [.network, .network, .network])
        #expect(bench.transport.requests.count == 2)
        bench.network.path = NetworkPath()
        #expect(bench.runToRest())
        #expect(bench.manager.succeededTasks.count == 3)
    }

    @Test func aLaunchInTheMiddleOfALossComesBack() {
        let bench = bench { $0.resumesAtLaunch = true }
        bench.network.path = .unavailable
        bench.settle()
        bench.relaunch()
        bench.network.path = NetworkPath()
        #expect(bench.runToRest())
        #expect(bench.manager.succeededTasks.count == 3)
    }

    @Test func aTransportThatNoticesFirstIsNoFailure() throws {
        let bench = bench()
        bench.transport.outage = .notConnected
        bench.settle()
        #expect(bench.manager.tasks.map(\.waitingReason) == [.network, .network, .network])
        bench.network.path = .unavailable
        bench.settle()
        bench.transport.outage = nil
        bench.network.path = NetworkPath()
        #expect(bench.runToRest())
        #expect(bench.manager.succeededTasks.count == 3)
    }

    @Test func networksThatFlapLoseNobody() {
        let bytes = Sample.bytes(20_000)
        for seed in 0..<UInt64(200) {
            let bench = bench(bytes, part: 7000) { $0.allowsCellularAccess = seed % 2 == 0 }
            var random = SeededGenerator(seed: seed)
            let paths: [NetworkPath] = [.unavailable, cellular, NetworkPath(kind: .wifi), NetworkPath()]
            for _ in 0..<40 {
                switch random.next() % 8 {
                case 0: bench.network.path = paths[Int(random.next() % 4)]
                case 1: bench.manager.configuration.allowsExpensiveNetworkAccess.toggle()
                case 2: bench.manager.configuration.maxConcurrentTasksLimit = 1 + Int(random.next() % 3)
                case 3: bench.clock.advance(by: .milliseconds(250))
                default: for _ in 0..<random.next() % 8 { _ = bench.lanes.runAny(using: &random) }
                }
            }
            bench.transport.release()
            bench.network.path = NetworkPath()
            #expect(bench.runToRest(), "seed \(seed)")
            #expect(bench.manager.succeededTasks.count == 3, "seed \(seed)")
        }
    }

    // MARK: Over transports that outlive the process

    /// As one whose header fields not everybody may see: it does not wait for a network by itself, as others there do.
    private func forbidden(_ fault: TransportFault) throws -> (TestBench, DownloadTask) {
        var configuration = SessionConfiguration()
        (configuration.maxConcurrentTasksLimit, configuration.retryPolicy) = (1, .never)
        let bench = TestBench.serving(large, configuration: configuration, traits: .background)
        bench.network.path = cellular
        let task = try bench.download(.failure(fault))
        bench.settle()
        return (bench, task)
    }

    @Test(arguments: [TransportFault.networkNotAllowed, .notConnected])
    func whoFindsNoNetworkBesideABackgroundSessionWaits(fault: TransportFault) throws {
        let (bench, task) = try forbidden(fault)
        #expect(task.status == .waiting && task.waitingReason == .network)
        bench.network.path = NetworkPath(kind: .wifi)
        bench.settle()
        #expect(task.status == .succeeded, "at once, and no attempt was counted: none was left")
    }

    @Test func itWaitsNoLongerThanUntilTheNetworkIsAllowed() throws {
        let (bench, task) = try forbidden(.networkNotAllowed)
        bench.manager.configuration.allowsCellularAccess = true
        bench.settle()
        #expect(task.status == .succeeded)
    }

    @Test func whereNobodyTellsOfTheNetworkItIsTriedAgain() throws {
        let (bench, task) = try forbidden(.networkNotAllowed)
        #expect(bench.runToRest(within: .seconds(31)))
        #expect(task.status == .succeeded)
    }

    @Test func aBackgroundSessionIsHeldBackByNoNetwork() throws {
        let bench = TestBench.serving(large, traits: .background)
        let task = try bench.download(.stall(afterBytes: 1 << 20))
        bench.settle()
        bench.network.path = .unavailable
        bench.transport.serve(.init([1]), at: "/other")
        let other = bench.manager.download("https://example.com/other")
        bench.settle()
        #expect(task.status == .running && other?.status == .succeeded)
        bench.transport.release()
        #expect(bench.runToRest())
        #expect(task.status == .succeeded && bench.transport.requests.count == 2)
    }
}
