import LannerCore

/// What lies at which path, each directory's apart: to find one among few takes no longer because another directory has
/// many.
struct MemoryNames<Value> {
    private var valuesByDirectory: [String: [String: Value]] = [:]

    /// The paths, in no order.
    var paths: [String] { valuesByDirectory.values.flatMap(\.keys) }

    var values: [Value] { valuesByDirectory.values.flatMap(\.values) }

    subscript(path: String) -> Value? { valuesByDirectory[path.directory]?[path] }

    func paths(in directory: String) -> [String] { valuesByDirectory[directory].map { Array($0.keys) } ?? [] }

    mutating func set(_ value: Value, at path: String) {
        valuesByDirectory[path.directory, default: [:]][path] = value
    }

    @discardableResult
    mutating func remove(_ path: String) -> Value? {
        valuesByDirectory[path.directory]?.removeValue(forKey: path)
    }
}
