import LannerCore

/// Files by their paths, those of each directory apart: few names stay few, beside whatever many there are, and those of a
/// directory need no search.
struct MemoryNames {
    private var directories: [String: [String: MemoryDiskState.File]] = [:]

    /// The paths, in no order.
    var paths: [String] { directories.values.flatMap(\.keys) }

    var files: [MemoryDiskState.File] { directories.values.flatMap(\.values) }

    func paths(in directory: String) -> [String] { directories[directory].map { Array($0.keys) } ?? [] }

    subscript(path: String) -> MemoryDiskState.File? {
        get { directories[path.directory]?[path] }
        set {
            if let newValue { directories[path.directory, default: [:]][path] = newValue } else { remove(path) }
        }
    }

    @discardableResult
    mutating func remove(_ path: String) -> MemoryDiskState.File? {
        directories[path.directory]?.removeValue(forKey: path)
    }
}
