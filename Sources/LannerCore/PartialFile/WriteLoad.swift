/// How many bytes wait to be written, in all files that share this.
package final class WriteLoad: Sendable {
    /// From this many on the disk is behind, 8 MiB: a chunk of each of a few files is not much.
    private static let much = 8 << 20

    private let bytes = Locked(0)

    package init() {}

    package var waiting: Int { bytes.withLock { $0 } }

    /// Whether bytes come faster than they are written.
    var isMuch: Bool { waiting >= Self.much }

    package func add(_ count: Int) {
        bytes.withLock { $0 += count }
    }

    package func remove(_ count: Int) {
        bytes.withLock { $0 -= count }
    }
}
