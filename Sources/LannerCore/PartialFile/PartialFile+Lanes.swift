import LannerMachine

// MARK: On the write lane

extension PartialFile {
    func openNow(_ total: Int64?, isAwaited: Bool) {
        guard let isNew = state.withLock({ $0.isUnopened ? $0.written.isEmpty : nil }) else { return }
        // What cannot be removed may be in the way later, and that is reported then.
        if let replaced { try? fileSystem.removeAll(of: replaced) }
        do throws(FileError) {
            // It was made at the launch, and somebody may have removed it since.
            let file = try makingDirectory { () throws(FileError) in
                try fileSystem.makeDirectory(path.directory)
            } for: { () throws(FileError) in
                try fileSystem.open(path, isNew ? .create : .readWrite)
            }
            state.withLock { $0.file = file }
            if !isNew {
                let size = try file.size()
                // Before space is set aside, in which a hole is seen no more.
                let holes = file.holes(in: state.withLock { $0.written.clipped(to: size) })
                state.withLock { state in
                    state.clip(to: size)
                    state.lose(holes)
                }
            }
            if let total {
                state.withLock { $0.setTotal(total) }
                try reserve(total, in: file)
            }
            if isAwaited { update { $0.emit(.opened(held: $0.written)) } }
            startHashing()
        } catch {
            update { $0.fail(error) }
        }
    }

    func take(_ total: Int64, needsRoom: Bool) {
        guard let file = file(for: "allocate") else { return }
        let isPutOff = state.withLock { state in
            state.setTotal(total)
            return state.unreserved != nil
        }
        startHashing()
        do throws(FileError) {
            if !isPutOff { return try reserve(total, in: file) }
            if needsRoom, state.withLock({ $0.written.isEmpty }) { try requireRoom(for: total) }
        } catch {
            update { $0.fail(error) }
        }
    }

    private func requireRoom(for total: Int64) throws(FileError) {
        try fileSystem.requireRoom(for: total, to: "allocate \(total) bytes for", path)
    }

    /// Nobody has anything to do with the file as long as it holds nothing: it can be another.
    func adoptNow(_ other: String, of count: Int64) -> Bool {
        let (file, isEmpty) = state.withLock { ($0.wantedFile, $0.written.isEmpty && $0.outstanding == 0) }
        guard let file, isEmpty, isWhole(other, count), (try? fileSystem.rename(other, to: path)) != nil else {
            return false
        }
        file.close()
        do throws(FileError) {
            let adopted = try fileSystem.open(path, .readWrite)
            state.withLock { $0.adopt(adopted) }
            update { $0.wrote(0..<count, missing: [0..<count]) }
            startHashing()
            if state.withLock({ $0.phase == .taking }) { beginSync(of: 0..<count, in: adopted) }
        } catch {
            update { $0.fail(error) }
        }
        return true
    }

    /// Whether a file can be written to, has so many bytes, and none of them is a hole.
    private func isWhole(_ path: String, _ count: Int64) -> Bool {
        do throws(FileError) {
            let file = try fileSystem.open(path, .readWrite)
            defer { file.close() }
            guard try file.size() == count else { return false }
            try file.checkWhole()
            return true
        } catch {
            return false
        }
    }

    /// Sets the space aside. An empty file is first held against what is free: not every file system can set aside, and
    /// what a file that holds something has been given already is not known.
    private func reserve(_ total: Int64, in file: any OpenFile) throws(FileError) {
        let (isEmpty, reserved) = state.withLock { ($0.written.isEmpty, $0.reserved) }
        // What is this file's already is not free any more.
        guard total > reserved else { return }
        if isEmpty { try requireRoom(for: total) }
        try file.allocate(total)
        state.withLock { $0.reserved = total }
    }

    /// Sets aside what was put off, unless it is all written now.
    private func reserveRest(besides range: Range<Int64>, in file: any OpenFile) throws(FileError) {
        let total = state.withLock { $0.unreserved.take() }
        if let total, range != 0..<total { try reserve(total, in: file) }
    }

    func writeNow() {
        // Nothing when it was written together with another, or dropped.
        guard let next = state.withLock({ $0.nextWrite(isMuchWaiting: load.isMuch) }) else { return }
        do throws(FileError) {
            try write(next.chunks, at: next.offset, directly: next.isDirect)
        } catch {
            // What there is room for is not lost with the rest.
            if next.chunks.count > 1, state.withLock({ !$0.hasFailed }) {
                return writeOneByOne(next.chunks, at: next.offset)
            }
            for chunk in next.chunks { giveUp(chunk, error) }
        }
    }

    private func writeOneByOne(_ chunks: [Chunk], at offset: Int64) {
        var position = offset
        for chunk in chunks {
            do throws(FileError) { try write([chunk], at: position, directly: false) } catch { giveUp(chunk, error) }
            position += Int64(chunk.count)
        }
    }

    private func giveUp(_ chunk: Chunk, _ error: FileError) {
        settle(chunk) { $0.fail(error) }
    }

    /// A chunk waits no more, and what came of that.
    private func settle(_ chunk: Chunk, _ change: (inout PartialFileState) -> Void = { _ in }) {
        load.remove(chunk.count)
        update { state in
            state.outstanding -= chunk.count
            change(&state)
        }
    }

    private func write(_ chunks: [Chunk], at offset: Int64, directly isDirect: Bool) throws(FileError) {
        let chunk = Chunk(joining: chunks)
        guard let file = file(for: "write") else { return settle(chunk) }
        let range = try range(of: chunk, at: offset)
        if state.withLock({ !$0.written.isEmpty }) { _ = try size(of: file, for: "write") }
        try reserveRest(besides: range, in: file)
        let missing = state.withLock { $0.missing(in: range) }
        try write(missing, of: chunk, at: offset, to: file, directly: isDirect)
        settle(chunk) { state in
            state.wrote(range, missing: missing)
            if missing == [range] { state.keep(chunks, at: offset) }
        }
        startHashing()
        // Nobody waits for this, and who closes the file does not want it any more.
        if chunk.isLarge, state.withLock({ $0.phase == .taking }) { beginSync(of: range, in: file) }
    }

    /// Throws when somebody has cut the file: the next write would fill the gap with zeros, which nothing would tell from
    /// what was there. So it is with one that somebody has removed, or put another in the place of: that one would be moved.
    private func size(of file: any OpenFile, for operation: String) throws(FileError) -> Int64 {
        let size = file.isRemoved ? 0 : try file.size()
        let isCut = state.withLock { state in
            guard size < state.written.end else { return false }
            state.wasCut(to: size)
            // At once: behind the cut there is nothing that tells of it any more.
            state.fail(contradiction(operation))
            return true
        }
        if isCut { throw contradiction(operation) }
        return size
    }

    private func range(of chunk: Chunk, at offset: Int64) throws(FileError) -> Range<Int64> {
        let (end, isTooLarge) = offset.addingReportingOverflow(Int64(chunk.count))
        guard offset >= 0, !isTooLarge else { throw FileError(fault: .tooLarge, operation: "write", path: path) }
        return offset..<end
    }

    private func write(
        _ missing: [Range<Int64>], of chunk: Chunk, at offset: Int64, to file: any OpenFile, directly: Bool
    ) throws(FileError) {
        try chunk.lend { position, buffers in
            let start = offset + Int64(position)
            return Result { () throws(FileError) in
                for gap in missing { try file.write(buffers, from: start, in: gap, directly: directly) }
            }
        }
    }

    private func beginSync(of range: Range<Int64>, in file: any OpenFile) {
        do throws(FileError) { try file.beginSync(of: range) } catch { failSync(error) }
    }

    func queueSync() {
        guard file(for: "sync") != nil, state.withLock({ $0.queueSync() }) else { return }
        lanes.sync.run {
            self.syncNow()
            self.state.withLock { $0.endSyncLaneWork() }
        }
    }

    func finishNow(_ total: Int64) {
        let (number, hasPieces) = state.withLock { state in
            state.setTotal(total)
            return (state.finishes, state.hasPieces)
        }
        guard hasPieces else { return completeNow(total) }
        // What is wrong now is fetched again: only a file whose pieces are right is completed. Another finish may have
        // followed this one meanwhile, and compares by itself.
        lanes.hash.run {
            self.hashNow()
            self.lanes.write.run {
                if self.state.withLock({ $0.isFinishing(number) }) { self.completeNow(total) }
            }
        }
    }

    private func completeNow(_ total: Int64) {
        guard let file = file(for: "finish") else { return }
        do throws(FileError) {
            guard state.withLock({ $0.isComplete(total) }) else { throw contradiction("finish") }
            let size = try size(of: file, for: "finish")
            // Mostly there is nothing to cut.
            if size != total {
                try file.truncate(to: total)
                guard try file.size() == total else { throw contradiction("truncate") }
            }
        } catch {
            return update { $0.fail(error) }
        }
        // The two that take long, side by side.
        let isHashed = state.withLock { $0.beginFinish() }
        if isHashed { lanes.hash.run { self.hashToFinish() } }
        guard let group, total <= Int64(Chunk.standardSize), state.withLock({ $0.joinGroup() }) else {
            return onSyncLane { $0.syncToFinish() }
        }
        group.add(self)
    }

    /// While nothing comes the space is for others: cutting the file where it ends gives back what was set aside behind
    /// that.
    private func giveBackReserve() {
        let (file, reserved) = state.withLock { ($0.file, $0.reserved) }
        guard let file, reserved > 0, let size = try? file.size(), size < reserved else { return }
        try? file.truncate(to: size)
    }

    /// Passes through the lanes one after the other: when the last is reached, nothing of this file runs any more.
    func closeBehindLanes(sync: Bool, resting: Bool) {
        if resting { giveBackReserve() }
        guard state.withLock({ $0.hasHasher || $0.hasPieces }) else { return onSyncLane { $0.closeNow(sync: sync) } }
        lanes.hash.run {
            self.digester.release()
            self.state.withLock { $0.stopHashing() }
            self.behindSyncs { $0.closeNow(sync: sync) }
        }
    }

    /// Does what belongs behind all syncs, on the write lane, which has nothing else to do any more: at once when there
    /// are none. For a small file the way to another thread takes longer than the work there.
    private func onSyncLane(_ work: @escaping @Sendable (PartialFile) -> Void) {
        if state.withLock({ $0.passSyncLane() }) { return work(self) }
        behindSyncs { file in
            work(file)
            file.state.withLock { $0.endSyncLaneWork() }
        }
    }

    private func behindSyncs(_ work: @escaping @Sendable (PartialFile) -> Void) {
        guard let group, state.withLock({ $0.isInGroup }) else { return lanes.sync.run { work(self) } }
        group.lane.run { self.lanes.sync.run { work(self) } }
    }

    /// The file for an operation; nil, with a failure unless there was one before, when there is none.
    private func file(for operation: String) -> (any OpenFile)? {
        update { state in
            if state.isUnopened { state.fail(contradiction(operation)) }
            return state.workingFile
        }
    }

    /// A failure that is not the disk's: the calls, or someone else who touches the file, contradict each other.
    private func contradiction(_ operation: String) -> FileError {
        FileError(fault: .other, operation: operation, path: path)
    }
}

// MARK: On the hash lane

extension PartialFile {
    func startHashing() {
        if state.withLock({ $0.startHashing() }) { lanes.hash.run { self.hashNow() } }
    }

    private func hashNow() {
        while let next = state.withLock({ $0.nextHashing() }) {
            do throws(FileError) {
                switch next.work {
                case .check(let piece, let algorithm):
                    let digest = try digester.digest(of: piece, algorithm, in: next.file, path) {
                        state.withLock { $0.wantedFile } != nil
                    }
                    if let digest { update { $0.compare(digest, of: piece) } }
                case .take(let piece, _): try digester.take(piece, of: next.file, path)
                }
            } catch {
                update { $0.failRead(error, at: next.work.position) }
            }
        }
    }

    private func hashToFinish() {
        hashNow()
        guard state.withLock({ $0.wantedFile }) != nil else { return }
        let digest = digester.digest()
        digester.release()
        update { $0.finishPart(digest: digest) }
    }
}

// MARK: On the sync lane

extension PartialFile {
    private func syncNow() {
        guard let (file, ranges) = state.withLock({ $0.beginSync() }) else { return }
        guard state.withLock({ $0.synced == ranges }) || sync(file, ranges) else { return }
        update { $0.emit(.synced($0.synced)) }
    }

    /// Always syncs, also when all bytes are known to be on the device: the cut is not.
    private func syncToFinish() {
        guard let (file, ranges) = state.withLock({ $0.beginSync() }), sync(file, ranges, isWhole: true) else { return }
        update { $0.finishPart() }
    }

    /// The same for a file in a group, on the group's lane or the file's own.
    func syncOfGroup() {
        guard let (file, ranges) = beginSyncOfGroup() else { return }
        settleSyncOfGroup(Result { () throws(FileError) in try file.sync() }, of: file, ranges, withName: false)
    }

    /// What a sync of the whole group covers of this file; nil when nobody waits for it any more.
    func beginSyncOfGroup() -> (file: any OpenFile, ranges: ByteRanges)? {
        state.withLock { state in
            let begun = state.beginSync()
            if begun == nil { state.isInGroup = false }
            return begun
        }
    }

    /// What has become of it, the file's name having been synced as well or not.
    func settleSyncOfGroup(
        _ outcome: Result<Void, FileError>, of file: any OpenFile, _ ranges: ByteRanges, withName isNamed: Bool
    ) {
        let isSynced = settleSync(of: ranges) { () throws(FileError) in
            try outcome.get()
            try file.checkWhole()
            if isNamed { state.withLock { $0.isNameSynced = true } }
        }
        if isSynced { state.withLock { $0.takeFinished() }?.close() }
        update { state in
            state.isInGroup = false
            if isSynced { state.finishPart() }
        }
    }

    private func closeNow(sync isWanted: Bool) {
        if isWanted, let (file, ranges) = state.withLock({ $0.beginLastSync() }) { _ = sync(file, ranges) }
        cutDistrusted()
        state.withLock { $0.file }?.close()
        update { $0.didClose() }
    }

    /// The file is cut before it is closed, since the process may not come to that; where nothing is being written.
    private func failSync(_ error: FileError) {
        update { $0.failSync(error) }
        lanes.write.run { self.cutDistrusted() }
    }

    /// What the device could not keep is still read from the cache, and a later process that trusts its record syncs it
    /// without an error: nothing is left of it.
    private func cutDistrusted() {
        guard let (file, size) = state.withLock({ $0.giveUpDistrusted() }) else { return }
        try? file.truncate(to: size)
    }

    /// Once: without it another file could have the name after the death of the machine, one that was removed before.
    private func syncName() throws(FileError) {
        guard !state.withLock({ $0.isNameSynced }) else { return }
        try fileSystem.syncDirectory(path.directory)
        state.withLock { $0.isNameSynced = true }
    }

    /// Syncs what was written before; false after a failure.
    private func sync(_ file: any OpenFile, _ ranges: ByteRanges, isWhole: Bool = false) -> Bool {
        settleSync(of: ranges) { () throws(FileError) in
            try file.sync()
            if isWhole { try file.checkWhole() }
        }
    }

    /// Has bytes synced, and then the file's name; false after a failure. One of the name says nothing about the bytes.
    private func settleSync(of ranges: ByteRanges, _ syncBytes: () throws(FileError) -> Void) -> Bool {
        do throws(FileError) {
            try syncBytes()
        } catch {
            failSync(error)
            return false
        }
        do throws(FileError) {
            try syncName()
        } catch {
            update { $0.fail(error) }
            return false
        }
        state.withLock { $0.didSync(ranges) }
        return true
    }
}

// MARK: Reporting

extension PartialFile {
    /// Changes the state, then reports what came of it, unless another lane is reporting and will take it along.
    func update<Result>(_ change: (inout PartialFileState) -> Result) -> Result {
        let (result, isReporter) = state.withLock { state in
            let result = change(&state)
            return (result, state.beginReporting())
        }
        if isReporter {
            while let event = state.withLock({ $0.takeEvent() }) { report(event) }
        }
        return result
    }
}

extension OpenFile {
    /// Writes of the bytes that belong at `start` and behind those that lie in `gap`.
    fileprivate func write(
        _ buffers: [UnsafeRawBufferPointer], from start: Int64, in gap: Range<Int64>, directly: Bool
    ) throws(FileError) {
        let count = buffers.reduce(0) { $0 + $1.count }
        let held = gap.clamped(to: start..<(start + Int64(count)))
        guard !held.isEmpty else { return }
        let part = buffers.part(Int(held.lowerBound - start)..<Int(held.upperBound - start))
        if directly { try writeDirectly(part, at: held.lowerBound) } else { try write(part, at: held.lowerBound) }
    }
}
