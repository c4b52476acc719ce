/// How many bytes wait to be written, in all files that share this.
package final class WriteLoad: Sendable {
    /// From this many on the disk is behind, 8 MiB: a chunk of each of a few files is not much.
    private static let much = 8 << 20
    /// From this many on no file needs many of its own, 64 MiB: the marks of eight files.
    private static let enough = 64 << 20

    private let bytes = Locked(0)

    package init() {}

    package var waiting: Int { bytes.withLock { $0 } }

    /// Bytes of one file that may wait. Many files have less each where much waits of all: the disk has enough to do.
    var marks: WaterMarks { waiting >= Self.enough ? .scarce : .usual }

    /// Whether bytes come faster than they are written.
    var isMuch: Bool { waiting >= Self.much }

    package func add(_ count: Int) {
        bytes.withLock { $0 += count }
    }

    package func remove(_ count: Int) {
        bytes.withLock { $0 -= count }
    }
}

/// Bytes on their way to the disk at which a transport is held back, and at which it may go on.
struct WaterMarks {
    let high: Int
    let low: Int

    static let usual = WaterMarks(high: 8 << 20, low: 4 << 20)
    static let scarce = WaterMarks(high: 2 << 20, low: 1 << 20)
}
