import Foundation

/// What a store holds, and how large a snapshot of it is.
///
/// Kept whole in memory: after a failed sync nothing on the disk, nor in the kernel's cache, can be trusted to be what
/// was written, and the snapshot that takes its place has to come from somewhere.
struct StoreImage {
    private(set) var values: [String: Data] = [:]
    /// The bytes of the frames of all values.
    private(set) var size: Int64 = 0

    /// The bytes of a snapshot: its header, the frames, and the last one without changes.
    var snapshotSize: Int64 { Int64(StoreFormat.headerSize) + size + Int64(StoreFormat.frameHeaderSize) }

    /// Makes room for what a file holds, unless its records are smaller than usual: growing step by step takes a
    /// third of the time of loading.
    mutating func reserve(forBytes count: Int) {
        values.reserveCapacity(count / 256)
    }

    mutating func apply(_ change: StoreChange) {
        switch change {
        case .put(let key, let value):
            if let old = values.updateValue(value, forKey: key) { size -= Self.size(key, old) }
            size += Self.size(key, value)
        case .remove(let key):
            if let old = values.removeValue(forKey: key) { size -= Self.size(key, old) }
        }
    }

    private static func size(_ key: String, _ value: Data) -> Int64 {
        Int64(StoreFormat.frameHeaderSize + StoreFormat.changeHeaderSize + key.utf8.count + value.count)
    }
}
