import LannerMachine

// Space that was set aside for the bytes of an attempt, and is given back where no other follows soon.

/// The space behind the end of a partial file that nobody has open.
enum Reserve {
    /// There is none, as far as is known.
    case none
    /// There may be some, once all is written that the last attempt has brought.
    case closing
    /// There may be some.
    case kept
}

/// Files that are to be cut to what is written in them.
struct Trims {
    /// By download, and the number of the last wish.
    private var waiting: [DownloadID: UInt64] = [:]
    private var last: UInt64 = 0
    private var current: DownloadID?

    mutating func add(_ id: DownloadID) -> UInt64 {
        last += 1
        waiting[id] = last
        return last
    }

    /// Whether it still is to be done. One at a time.
    mutating func begin(_ id: DownloadID, _ number: UInt64) -> Bool {
        guard waiting[id] == number else { return false }
        waiting[id] = nil
        current = id
        return true
    }

    mutating func end() { current = nil }

    /// The file is wanted: what has not begun is not done. Says whether there was such, and whether one is under way.
    mutating func takeBack(_ id: DownloadID) -> (isTakenBack: Bool, isUnderWay: Bool) {
        (waiting.removeValue(forKey: id) != nil, current == id)
    }
}

extension Engine {
    /// Gives the space back that was set aside for an attempt of a download, where none follows soon.
    func giveBackSpace(of job: Job) {
        let generation = job.state.withLock { state -> UInt32? in
            guard state.reserve == .kept, state.file == nil else { return nil }
            state.reserve = .none
            return state.fileGeneration
        }
        guard let generation else { return }
        let path = partialPath(job, generation)
        let number = trims.withLock { $0.add(job.id) }
        // The end waits for it as for an open file: afterwards the directory may be another's.
        openFiles.withLock { $0.count += 1 }
        fileLane.run { [self] in
            defer { endFile() }
            guard trims.withLock({ $0.begin(job.id, number) }) else { return }
            // Only to save space: what cannot be done is left.
            try? environment.fileSystem.trim(path)
            trims.withLock { $0.end() }
        }
    }

    /// The same when a file is closed of which it was told before that no other attempt follows soon: its context is not
    /// shown, or the manager has ended. Then at once, while the directory is the manager's.
    func giveBackSpaceIfOver(of job: Job) {
        let (isOver, isShelved) = state.withLock { ($0.isInvalidated, $0.isShelved(job.task.context)) }
        if !isOver {
            if isShelved { giveBackSpace(of: job) }
        } else if let generation = job.state.withLock({ $0.fileGeneration }) {
            try? environment.fileSystem.trim(partialPath(job, generation))
        }
    }
}

extension JobState {
    /// An attempt leaves its file, which is cut by itself where the download comes to rest; nil where it is moved.
    mutating func leaveReserve(isResting: Bool?) {
        switch isResting {
        case nil: reserve = .none
        // It may not have come to opening the file, and to what is behind its end.
        case true?: reserve = reserve == .none ? .none : .closing
        case false?: reserve = .closing
        }
    }

    /// What is behind the end of the file belongs to this attempt. It may have left the file again.
    mutating func noteOpened(in attempt: Attempt) {
        hasFileFailed = false
        if attempt == fileAttempt, file != nil { reserve = .none }
    }

    /// Nothing more is written in an attempt; another may have the file by now. Says whether there may be space behind that.
    mutating func noteClosed(in attempt: Attempt) -> Bool {
        guard attempt == fileAttempt, reserve == .closing, file == nil else { return false }
        reserve = .kept
        return true
    }
}
