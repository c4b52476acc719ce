import Foundation
import Testing

/// What the README shows is code that compiles.
@Suite struct SnippetTests {
    private let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func everySwiftBlockOfTheReadmeIsCompiled() throws {
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let source = try String(
            contentsOf: root.appendingPathComponent("Tests/DocumentationTests/Snippets.swift"), encoding: .utf8)
        let blocks = Self.blocks(in: readme, from: "```swift", to: "```")
        #expect(!blocks.isEmpty)
        let snippets = Self.blocks(in: source, from: "// snippet:", to: "// end")
        for block in blocks { #expect(snippets.contains(block), "not compiled: \(block)") }
    }

    @Test func theReadmeIsShort() throws {
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
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
