import Foundation
import LannerMachine
import LannerTesting
import Testing

@testable import LannerCore

/// Held downloads of some lists, a name each.
struct ListBench {
    let bench: TestBench
    var manager: SessionManager { bench.manager }

    init(_ names: [String], limit: Int = 100, starts: Bool = true, _ list: (String) -> String?) {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = limit
        configuration.listLimits = ["one": 1]
        bench = TestBench(configuration: configuration)
        bench.transport.serveElsewhere(.init([1, 2, 3]))
        bench.transport.holdsAll = true
        bench.manager.multiDownload(
            requests: names.map {
                DownloadRequest("https://a.example/" + $0, key: $0, list: list($0), startsImmediately: starts)
            })
        bench.settle()
    }

    /// Who has a status, in order.
    func names(_ status: Status) -> String {
        manager.tasks.filter { $0.status == status }.map(\.key).joined(separator: " ")
    }

    func release(_ name: String) {
        bench.transport.release("/" + name)
        bench.settle()
    }
}
