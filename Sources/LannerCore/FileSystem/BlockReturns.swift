import CLannerDisk
import Dispatch
import Foundation

/// Gives back to the disk what large files have of it that are removed. For a gibibyte that takes a tenth of a second,
/// which whoever removes a file need not wait for: its name is gone at once, and it is held open until a thread of its
/// own lets it go. Who needs the room meanwhile waits for it.
final class BlockReturns: Sendable {
    /// Not on a lane of the pool, whose threads may all wait for this one.
    static let shared = BlockReturns(lane: DispatchLane(DispatchQueue(label: "lanner.blocks")))

    /// Bytes on the disk for which a thread is worth being changed.
    private let large: Int
    /// Descriptors are few: who removes more at once waits for the disk.
    private let most: Int
    private let lane: any Lane
    /// Whether the file system of an open file does without its name what is expected: others give it another name
    /// until it is closed, or do not let it go.
    private let mayHold: @Sendable (Int32) -> Bool
    private let counts = Locked(Counts())

    /// What is held, and how often something was let go.
    private struct Counts {
        var held = 0
        var givenBack = 0
    }

    init(
        lane: any Lane, large: Int = 32 << 20, most: Int = 16,
        mayHold: @escaping @Sendable (Int32) -> Bool = { lanner_disk_is_plain($0) != 0 }
    ) {
        (self.lane, self.large, self.most, self.mayHold) = (lane, large, most, mayHold)
    }

    /// Has `removal` take away the name of a file, and gives back its blocks afterwards on a thread of its own.
    func remove(_ path: String, by removal: () throws(FileError) -> Void) throws(FileError) {
        let number = hold(path)
        defer { if let number { giveBack(number) } }
        try removal()
    }

    /// Returns when all has been let go whose removal was over before; says whether there was any.
    func wait() -> Bool {
        guard counts.withLock({ $0.held > 0 }) else { return false }
        let latch = Latch()
        lane.run { latch.open() }
        LanePool.shared.block { latch.wait() }
        return true
    }

    /// Does what needs room on the disk: where there is none, once more when all has been let go, be it during the
    /// first try.
    func makingRoom<Result>(_ work: () throws(FileError) -> Result) throws(FileError) -> Result {
        let before = counts.withLock(\.givenBack)
        do throws(FileError) {
            return try work()
        } catch {
            guard error.fault == .noSpace, wait() || counts.withLock({ $0.givenBack != before }) else { throw error }
            return try work()
        }
    }

    /// Opens a file that is large and has no other name; nil for others, and when enough are held. No `Descriptor`: whoever
    /// lets go of one last closes it, which here is to be the lane.
    private func hold(_ path: String) -> Int32? {
        var status = stat()
        guard lstat(path, &status) == 0, status.isRegular, status.st_nlink == 1,
            Int64(status.st_blocks) >= Int64(large / 512)
        else { return nil }
        guard counts.withLock({ $0.held < most }) else { return nil }
        let number = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard number >= 0 else { return nil }
        guard mayHold(number) else {
            _ = close(number)
            return nil
        }
        counts.withLock { $0.held += 1 }
        return number
    }

    private func giveBack(_ number: Int32) {
        lane.run { [self] in
            _ = close(number)
            counts.withLock {
                $0.held -= 1
                $0.givenBack += 1
            }
        }
    }
}
