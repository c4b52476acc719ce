import Foundation

/// An empty directory of its own, removed with the value.
package final class Workplace: Sendable {
    package let url: URL

    package init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-cli-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    package func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
        try Data(bytes).write(to: url.appendingPathComponent(name))
    }

    package func bytes(_ name: String) -> [UInt8]? {
        (try? Data(contentsOf: url.appendingPathComponent(name))).map { Array($0) }
    }

    /// The names of what is there, hidden ones too.
    package var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: url.path).sorted()) ?? []
    }
}
