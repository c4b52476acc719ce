import Foundation
import Testing

/// Has every target read what is kept in `Fixtures/Fuzz`: bytes that reach far, and those that once found something.
@Suite struct CorpusTests {
    private static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/Fuzz")

    private static func names(in directory: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { !$0.hasPrefix(".") }.sorted()
    }

    @Test func everyTargetHasACorpus() throws {
        #expect(try Self.names(in: Self.directory) == FuzzTarget.all.map(\.name).sorted())
    }

    @Test(arguments: FuzzTarget.all.map(\.name)) func promisesHold(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let directory = Self.directory.appendingPathComponent(name)
        let files = try Self.names(in: directory)
        #expect(!files.isEmpty)
        for file in files {
            let bytes = try Data(contentsOf: directory.appendingPathComponent(file))
            #expect(throws: Never.self, "\(name)/\(file)") { try target.attempt(Array(bytes)) }
        }
    }
}
