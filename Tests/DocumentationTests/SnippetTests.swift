import Foundation
import Testing

/// What the documents show is code that compiles.
@Suite struct SnippetTests {
    private let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test(arguments: [("README.md", "Snippets.swift"), ("Docs/Testing.md", "TestingSnippets.swift")])
    func everySwiftBlockIsCompiled(document: String, source: String) throws {
        let blocks = Self.blocks(in: try text(document), from: "```swift", to: "```")
        #expect(!blocks.isEmpty)
        let snippets = Self.blocks(
            in: try text("Tests/DocumentationTests/" + source), from: "// snippet:", to: "// end")
        for block in blocks { #expect(snippets.contains(block), "not compiled: \(block)") }
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test func theReadmeIsShort() throws {
        let readme = try text("README.md")
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 121)
    }

    /// The lines between two marks, without white space around them.
    private static func blocks(in text: String, from start: String, to end: String) -> [[String]] {
        var blocks: [[String]] = []
        var block: [String]?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if let open = block {
                if line == end {
                    blocks.append(open)
                    block = nil
                } else {
                    block?.append(line)
                }
            } else if line.hasPrefix(start) {
                block = []
            }
        }
        return blocks
    }
}
