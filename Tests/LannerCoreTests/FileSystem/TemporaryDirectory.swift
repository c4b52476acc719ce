import Foundation

/// A directory of its own for one test, removed with the value.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        let name = "lanner-" + UUID().uuidString
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(name, isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.resolvingSymlinksInPath().path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func callAsFunction(_ name: String) -> String {
        path + "/" + name
    }
}
