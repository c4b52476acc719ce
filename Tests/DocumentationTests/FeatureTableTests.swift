import Foundation
import Testing

/// The table of features has every row, and the tests it names are there.
@Suite struct FeatureTableTests {
    private struct Row {
        var name: String
        var test: String
    }

    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private let rows: [Row]

    init() throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("Docs/Features.md"), encoding: .utf8)
        rows = text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 6, cells[1].wholeMatch(of: /(T1|T2|T3|R|N)-\d\d/) != nil else { return nil }
            return Row(name: cells[1], test: cells[4])
        }
    }

    @Test func hasEveryRow() {
        var expected: [String] = []
        for (system, count) in [("T1", 5), ("T2", 1), ("T3", 26), ("R", 15), ("N", 18)] {
            for number in 1...count { expected.append("\(system)-\(number < 10 ? "0" : "")\(number)") }
        }
        #expect(rows.map(\.name).sorted() == expected.sorted())
    }

    @Test func namesTestsThatAreThere() throws {
        let sources = try Self.sources()
        for row in rows where !row.test.hasPrefix("not yet") {
            let match = try #require(row.test.wholeMatch(of: /`(\w+)\.(\w+)`/), "\(row.name): \(row.test)")
            let (suite, function) = (String(match.1), String(match.2))
            let isThere = sources.contains { source in
                ["struct", "class"].contains { source.contains("\($0) \(suite)") }
                    && source.contains("func \(function)(")
            }
            #expect(isThere, "\(row.name): there is no test \(suite).\(function)")
        }
    }

    private static func sources() throws -> [String] {
        let tests = root.appendingPathComponent("Tests")
        let paths = FileManager.default.enumerator(atPath: tests.path)?.allObjects as? [String] ?? []
        return try paths.filter { $0.hasSuffix("Tests.swift") && !$0.contains(".build") }.map {
            try String(contentsOf: tests.appendingPathComponent($0), encoding: .utf8)
        }
    }
}
