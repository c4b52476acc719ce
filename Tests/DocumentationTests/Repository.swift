import Foundation

/// The files of this package.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func url(_ path: String) -> URL { root.appendingPathComponent(path) }

    static func text(_ path: String) throws -> String {
        try String(contentsOf: url(path), encoding: .utf8)
    }

    /// The paths below a directory, by how they end, in order.
    static func files(below directory: String, suffix: String) -> [String] {
        let names = FileManager.default.enumerator(atPath: url(directory).path)?.allObjects as? [String] ?? []
        return names.filter { $0.hasSuffix(suffix) && !$0.contains(".build") }.sorted().map { directory + "/" + $0 }
    }

    /// What a reader is shown: the README, the documents, the articles.
    static var documents: [String] {
        ["README.md"] + files(below: "Docs", suffix: ".md") + files(below: "Sources/Lanner/Lanner.docc", suffix: ".md")
    }
}
