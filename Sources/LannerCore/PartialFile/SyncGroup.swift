import LannerMachine

/// Small files that are finished, and wait to be brought to the device: as many as wait go together, which
/// costs little more than one does by itself. Those that come meanwhile are the next to go.
package final class SyncGroup: Sendable {
    /// So many are synced one by one where they cannot go together; more go their own ways, so that none waits for all
    /// others.
    private static let few = 3
    /// So many at most go their own ways at once: each of them has a thread, of which others want some, too.
    private static let mostApart = 32

    private let fileSystem: any FileSystem
    /// What belongs behind the syncs of a file that is in the group goes through here.
    let lane: any Lane
    private let waiting: Batch<PartialFile>
    /// Those that go their own ways.
    private let apart = Locked(Turns<PartialFile>(atATime: SyncGroup.mostApart))

    package init(of fileSystem: any FileSystem, lane: any Lane) {
        (self.fileSystem, self.lane, waiting) = (fileSystem, lane, Batch(on: lane))
    }

    /// Takes a file to its finish. → `finished` or `failed`, as the file reports them
    func add(_ file: PartialFile) {
        waiting.add(file) { self.sync($0) }
    }

    private func sync(_ files: [PartialFile]) {
        if syncTogether(files) { return }
        if files.count <= Self.few { return files.forEach { $0.syncOfGroup() } }
        apart.withLock { apart in
            for file in files { apart.append(file) }
        }
        syncApart()
    }

    /// Lets as many go their own ways as may. Who is closed while it waits has nothing left to be done when its turn comes.
    private func syncApart() {
        while let file = apart.withLock({ $0.begin() }) {
            file.lanes.sync.run {
                file.syncOfGroup()
                self.apart.withLock { $0.end() }
                self.syncApart()
            }
        }
    }

    /// False when they have to be synced one by one, be it to learn which of them cannot be.
    private func syncTogether(_ files: [PartialFile]) -> Bool {
        let begun = files.compactMap { file in file.beginSyncOfGroup().map { (file, open: $0.file, $0.ranges) } }
        guard let outcomes = fileSystem.syncAll(begun.map(\.open)) else { return false }
        for ((file, open, ranges), outcome) in zip(begun, outcomes) {
            file.settleSyncOfGroup(outcome, of: open, ranges, withName: true)
        }
        return true
    }
}
