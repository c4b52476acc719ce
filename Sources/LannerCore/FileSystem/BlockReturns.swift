import Dispatch

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Gives back to the disk what large files have of it that are removed. For a gibibyte that takes a tenth of a second, which
/// whoever removes a file need not wait for: its name is gone at once, its blocks are when nobody has it open any more.
final class BlockReturns: Sendable {
    /// Not on a lane of the pool, whose threads may all wait for this one.
    static let shared = BlockReturns(lane: DispatchLane(DispatchQueue(label: "lanner.blocks")))

    /// Bytes on the disk for which a thread is worth being changed.
    private let large: Int
    /// Descriptors are few: who removes more at once waits for the disk.
    private let most: Int
    private let lane: any Lane
    private let held = Locked(0)

    init(lane: any Lane, large: Int = 32 << 20, most: Int = 16) {
        (self.lane, self.large, self.most) = (lane, large, most)
    }

    /// Has `removal` take away the name of a file, and gives back its blocks afterwards on a thread of its own.
    func remove(_ path: String, by removal: () throws(FileError) -> Void) throws(FileError) {
        let number = hold(path)
        defer { if let number { giveBack(number) } }
        try removal()
    }

    /// Returns when everything has been given back that was removed before.
    func wait() {
        guard held.withLock({ $0 > 0 }) else { return }
        let latch = Latch()
        lane.run { latch.open() }
        latch.wait()
    }

    /// Opens a file that is large and has no other name; nil for others, and when enough are held.
    private func hold(_ path: String) -> Int32? {
        var status = stat()
        guard lstat(path, &status) == 0, status.isRegular, status.st_nlink == 1, Int(status.st_blocks) * 512 >= large
        else { return nil }
        let mayHold = held.withLock { held in
            guard held < most else { return false }
            held += 1
            return true
        }
        guard mayHold else { return nil }
        let number = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if number >= 0 { return number }
        held.withLock { $0 -= 1 }
        return nil
    }

    private func giveBack(_ number: Int32) {
        lane.run { [self] in
            _ = close(number)
            held.withLock { $0 -= 1 }
        }
    }
}
