import LannerCore

/// Files by their paths, those of each directory apart: to find one among few takes no longer because another directory has
/// many.
struct MemoryNames {
    private var filesByDirectory: [String: [String: MemoryDiskState.File]] = [:]

    /// The paths, in no order.
    var paths: [String] { filesByDirectory.values.flatMap(\.keys) }

    var files: [MemoryDiskState.File] { filesByDirectory.values.flatMap(\.values) }

    func paths(in directory: String) -> [String] { filesByDirectory[directory].map { Array($0.keys) } ?? [] }

    subscript(path: String) -> MemoryDiskState.File? {
        get { filesByDirectory[path.directory]?[path] }
        set {
            if let newValue { filesByDirectory[path.directory, default: [:]][path] = newValue } else { remove(path) }
        }
    }

    @discardableResult
    mutating func remove(_ path: String) -> MemoryDiskState.File? {
        filesByDirectory[path.directory]?.removeValue(forKey: path)
    }
}
