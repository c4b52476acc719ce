import LannerCore
import LannerTesting
import Testing

@Suite struct ManualNetworkTests {
    /// Who is told first may end the others.
    @Test func aWatchThatIsCanceledIsToldNothing() {
        let network = ManualNetwork()
        let (later, told) = (Locked<(any NetworkWatch)?>(nil), Locked<[String]>([]))
        let first = network.watch { _ in
            told.withLock { $0.append("first") }
            later.withLock { $0 }?.cancel()
        }
        let second = network.watch { _ in told.withLock { $0.append("second") } }
        later.withLock { $0 = second }
        network.path = NetworkPath(kind: .wifi)
        #expect(told.withLock { $0 } == ["first"] && network.watchCount == 1)
        withExtendedLifetime(first) {}
    }

    @Test func theRestIsToldWhatWasSetMeanwhile() {
        let network = ManualNetwork()
        let kinds = Locked<[NetworkPath.Kind]>([])
        let first = network.watch { path in
            if path.kind == .wifi { network.path = NetworkPath(kind: .cellular) }
        }
        let second = network.watch { path in kinds.withLock { $0.append(path.kind) } }
        network.path = NetworkPath(kind: .wifi)
        #expect(kinds.withLock { $0 } == [.cellular, .cellular])
        withExtendedLifetime((first, second)) {}
    }
}
