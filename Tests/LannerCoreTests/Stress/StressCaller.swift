import Foundation
import LannerMachine
import LannerTesting

@testable import LannerCore

/// One public method or property, with arguments of chance.
struct StressCall: Sendable {
    let name: String
    let body: @Sendable (inout StressCaller) -> Void

    init(_ name: String, _ body: @escaping @Sendable (inout StressCaller) -> Void) {
        self.name = name
        self.body = body
    }
}

/// Who makes a call, and what chance gives it.
struct StressCaller {
    let round: StressRound
    let manager: SessionManager
    let name: String
    var random: SeededGenerator

    mutating func flag() -> Bool { .random(using: &random) }

    mutating func index(_ count: Int) -> Int { .random(in: 0..<max(1, count), using: &random) }

    /// Mostly one that can be used.
    mutating func address() -> String {
        index(40) == 0 ? "no address" : StressTransport.addresses[index(StressTransport.addresses.count)]
    }

    mutating func addresses() -> [String] { (0..<index(4)).map { _ in address() } }

    mutating func key() -> String { flag() ? address() : "key-\(index(6))" }

    mutating func keys() -> [String] { (0..<index(4)).map { _ in key() } }

    mutating func task() -> DownloadTask? {
        let tasks = manager.tasks
        return tasks.isEmpty ? manager.fetchTask(address()) : tasks[index(tasks.count)]
    }

    mutating func tasks() -> [DownloadTask] { (0..<index(4)).compactMap { _ in task() } }

    mutating func list() -> String? { [nil, "films", "songs"][index(3)] }

    mutating func context() -> String? { StressRound.contexts[index(StressRound.contexts.count)] }

    mutating func digest() -> Checksum.Digest? {
        index(3) > 0 ? nil : try? Checksum.Digest(algorithm: .md5, hexadecimal: code())
    }

    /// Mostly of another file.
    mutating func pieces() -> Checksum.Pieces? {
        let digest = try? Checksum.Digest(algorithm: .md5, hexadecimal: code())
        return digest.flatMap { try? Checksum.Pieces(length: 1 << Int64(10 + index(12)), digests: [$0]) }
    }

    mutating func code() -> String { String(repeating: flag() ? "0" : "f", count: 32) }

    mutating func request() -> DownloadRequest {
        var request = DownloadRequest(address())
        request.headers = flag() ? ["Accept-Language": "en", "X-A": "\(index(9))"] : nil
        request.key = flag() ? key() : nil
        request.fileName = index(4) == 0 ? "name-\(index(5))" : nil
        request.destination = index(6) == 0 ? "below/place-\(index(5))" : nil
        (request.checksum, request.pieces) = (digest(), index(4) == 0 ? pieces() : nil)
        request.mirrors = flag() ? (0..<index(3)).map { _ in address() } : nil
        (request.list, request.context) = (list(), flag() ? context() : nil)
        request.priority = flag() ? priority() : nil
        request.maximumBytesPerSecond = flag() ? rate() : nil
        request.conflictPolicy = FileConflictPolicy.allCases[index(3)]
        request.metadata = flag() ? ["number": "\(index(99))"] : nil
        request.startsImmediately = [nil, true, false][index(3)]
        return request
    }

    mutating func configuration() -> SessionConfiguration {
        var configuration = StressCalls.configuration
        configuration.maxConcurrentTasksLimit = 1 + index(6)
        configuration.standardListLimit = 1 + index(3)
        configuration.listLimits = flag() ? ["films": 1 + index(2)] : [:]
        configuration.maxConcurrentTasksPerHost = flag() ? 1 + index(3) : nil
        configuration.maximumBytesPerSecond = flag() ? rate() : nil
        (configuration.maxConnectionsPerDownload, configuration.firstConnections) = (1 + index(4), 1 + index(4))
        configuration.smallestPiece = 1000
        configuration.allowsCellularAccess = flag()
        configuration.allowsExpensiveNetworkAccess = flag()
        configuration.allowsConstrainedNetworkAccess = flag()
        configuration.retryPolicy.maximumRetries = index(4)
        configuration.refreshesLinksBeforeStart = flag()
        configuration.startsImmediately = index(8) > 0
        configuration.keepsPartialFileOnCancel = flag()
        configuration.progressInterval = .milliseconds(index(3))
        configuration.fileNaming = FileNaming.allCases[index(3)]
        configuration.fileConflictPolicy = FileConflictPolicy.allCases[index(3)]
        return configuration
    }

    mutating func priority() -> DownloadPriority { DownloadPriority.allCases[index(5)] }

    /// Mostly one at which a round comes to its end.
    mutating func rate() -> Int64 { index(8) == 0 ? Int64(index(3) - 1) : 1 << Int64(20 + index(8)) }

    mutating func path() -> NetworkPath {
        let kinds = NetworkPath.Kind.allCases
        return NetworkPath(
            isAvailable: index(3) > 0, kind: kinds[index(kinds.count)], isExpensive: flag(), isConstrained: flag())
    }

    /// A handler that is to be called exactly once.
    func handler<Sender>() -> @Sendable (Sender) -> Void { round.handler(name) }

    /// A callback that may come at any time, any number of times.
    func callback<Sender>() -> @Sendable (Sender) -> Void {
        { [round] _ in round.callAnything("callback that stays") }
    }
}
