import Foundation
import Testing

/// What the documents show is code that compiles.
@Suite struct SnippetTests {
    private let snippets: [[String]]

    init() throws {
        snippets = try Repository.files(below: "Tests/DocumentationTests/Snippets", suffix: ".swift").flatMap {
            Self.blocks(in: try Repository.text($0), from: "// snippet:", to: "// end")
        }
    }

    @Test(arguments: Repository.documents) func everySwiftBlockIsCompiled(document: String) throws {
        for block in Self.blocks(in: try Repository.text(document), from: "```swift", to: "```") {
            #expect(snippets.contains(block), "not compiled: \(block)")
        }
    }

    @Test func everySnippetIsShown() throws {
        let shown = try Repository.documents.flatMap {
            Self.blocks(in: try Repository.text($0), from: "```swift", to: "```")
        }
        #expect(!shown.isEmpty)
        for snippet in snippets { #expect(shown.contains(snippet), "shown nowhere: \(snippet)") }
    }

    @Test func theBackgroundExampleDoesWhatItSays() throws {
        let bench = forceQuit([UInt8](repeating: 7, count: 5000))
        let task = try #require(bench.manager.tasks.first)
        #expect(task.status == .suspended && task.progress.completedUnitCount == 1000)
    }

    /// A shell takes a `<` for a redirection; only Swift shows a range without quotation marks.
    @Test(arguments: Repository.documents) func rangesInCommandsAreQuoted(document: String) throws {
        let text = try Repository.text(document)
        let swift = Set(Self.blocks(in: text, from: "```swift", to: "```").joined())
        let lines = text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        for line in lines where !swift.contains(line) {
            for word in line.split(whereSeparator: { " `".contains($0) }) where word.contains("..<") {
                #expect(word.hasPrefix("'") && word.hasSuffix("'"), "not quoted: \(line)")
            }
        }
    }

    @Test func theReadmeIsShort() throws {
        let readme = try Repository.text("README.md")
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
