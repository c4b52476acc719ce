import Foundation

/// Whether a figure was out of its bound.
nonisolated(unsafe) public var failed = false

/// Prints a figure beside its bound, and remembers when it does not hold.
public func check(_ name: String, _ figure: Double, atMost bound: Double, unit: String = "s", note: String = "") {
    let holds = figure <= bound
    failed = failed || !holds
    print("\(holds ? "ok  " : "FAIL") \(name): \(String(format: "%.3f", figure)) \(unit)\(note) (bound: \(bound))")
}

extension Duration {
    /// The same as a number of milliseconds.
    public var milliseconds: Double { Double(components.seconds) * 1e3 + Double(components.attoseconds) / 1e15 }
}

extension [Double] {
    /// The one that so many hundredths of them are below, half of them unless told otherwise: a single one may have been
    /// disturbed.
    public func percentile(_ share: Int = 50) -> Double {
        isEmpty ? .nan : sorted()[Swift.max(0, (count * share + 99) / 100 - 1)]
    }
}
