import LannerMachine

/// Which events the machine has met in which states.
struct Table {
    private let coverage: Coverage

    init(_ coverage: Coverage) {
        self.coverage = coverage
    }

    func print() {
        var met: [Coverage.Place: Set<Coverage.Kind>] = [:]
        for step in coverage.counts.keys { met[step.from, default: []].insert(step.event) }
        for place in Coverage.Place.allCases {
            let missing = Coverage.Kind.allCases.filter { met[place]?.contains($0) != true }
            Swift.print("\(place.rawValue): never met \(missing.map(\.rawValue).joined(separator: " "))")
        }
    }
}
