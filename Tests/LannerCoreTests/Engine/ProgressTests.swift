import Foundation
import Testing

@testable import LannerCore

@Suite struct ProgressTests {
    /// Sums of sizes come and go with the tasks. Foundation's own on Linux does not survive all of it.
    @Test func mayChangeItsSizeAsOftenAsItLikes() {
        let progress = Progress(totalUnitCount: 0)
        let sizes: [Int64?] = [120_000, nil, 0, 40_000, 0, 30_001, 7, 0, nil, 1 << 40, 99_999_999_977, 1 << 62, .max]
        for first in sizes {
            for second in sizes {
                for size in [first, second] {
                    progress.set(completed: size.map { $0 / 2 } ?? 10, total: size)
                    #expect(progress.totalUnitCount == size ?? -1)
                    #expect(progress.completedUnitCount == size.map { $0 / 2 } ?? 10)
                }
            }
        }
        progress.set(completed: 5, total: 10)
        #expect(progress.fractionCompleted == 0.5)
    }
}
