import Foundation
import Testing

/// The table of features has every row, and the tests that documents name are there. That they ran and passed is seen by
/// `.ci/proofs`.
@Suite struct FeatureTableTests {
    private struct Row {
        var name: String
        var test: String
    }

    private let rows: [Row]

    init() throws {
        rows = try Repository.text("Docs/Features.md").split(separator: "\n").compactMap { line in
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

    @Test func everyRowNamesATest() {
        for row in rows where !row.test.hasPrefix("not yet") {
            #expect(row.test.wholeMatch(of: /`\w+Tests\.\w+`/) != nil, "\(row.name): \(row.test)")
        }
    }

    @Test func theTestsThatAreNamedAreThere() throws {
        let sources = try Repository.files(below: "Tests", suffix: "Tests.swift").map(Repository.text)
        for document in Repository.documents {
            for match in try Repository.text(document).matches(of: /`(\w+Tests)\.(\w+)`/) {
                let (suite, function) = (match.1, match.2)
                let isThere = sources.contains { source in
                    ["struct", "class"].contains { source.contains("\($0) \(suite) ") }
                        && source.contains("func \(function)(")
                }
                #expect(isThere, "\(document): there is no test \(suite).\(function)")
            }
        }
    }
}
