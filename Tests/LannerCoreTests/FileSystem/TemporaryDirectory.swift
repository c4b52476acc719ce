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

    /// The permissions of a file.
    func permissions(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: self(name))[.posixPermissions] as? Int
    }

    func callAsFunction(_ name: String) -> String {
        path + "/" + name
    }
}
