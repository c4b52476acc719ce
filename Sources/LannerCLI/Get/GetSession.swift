import Foundation
import Lanner

/// The downloads of one call, from the first look at what is there to the last record.
struct GetSession: Sendable {
    var plan: GetPlan
    var headers: [String: String]
    var priority: DownloadPriority?
    var manager: SessionManager
    var reporter: any Reporter
    var interruption: Interruption

    /// Downloads everything that is not there. The outcomes are in the order of the plan.
    func run() async -> [Outcome] {
        let missing = await survey()
        interruption.onSignal { [manager] in manager.totalSuspend() }
        let ended = await download(missing)
        reporter.finish()
        return plan.items.indices.map { ended[$0] ?? .done }
    }

    // MARK: What is there

    /// Reports the files that need no download; returns the places of the others.
    private func survey() async -> [Int] {
        var missing: [Int] = []
        for (index, item) in plan.items.enumerated() {
            let task = manager.fetchTask(item.url)
            if let validation = presence(item, task) {
                let size = fileSize(item.path) ?? 0
                reporter.report(
                    Report(
                        index: index, item: item, event: .skipped(isVerified: validation == .correct),
                        standing: Standing(bytes: size, total: size)))
            } else {
                // What was known of another file, or of one that is gone, is of no use.
                if let task, task.status == .succeeded { await forget(task) }
                missing.append(index)
            }
        }
        return missing
    }

    /// Whether the file is there and needs no download: it has the digest asked for; or, none being asked for, an
    /// earlier call that was not finished put it there. nil: it does.
    private func presence(_ item: GetPlan.Item, _ task: DownloadTask?) -> Validation? {
        guard let size = fileSize(item.path) else { return nil }
        if let expected = item.checksum {
            let actual = try? Checksum.digest(ofFileAt: item.path, algorithm: expected.algorithm)
            return actual == expected ? .correct : nil
        }
        guard let task, task.status == .succeeded, task.fileName == item.name, task.totalBytes == size else {
            return nil
        }
        return task.validation
    }

    private func fileSize(_ path: String) -> Int64? {
        try? PosixFileSystem().size(of: path)
    }

    // MARK: Downloading

    private func download(_ indices: [Int]) async -> [Int: Outcome] {
        await withTaskGroup(of: (Int, Outcome).self) { group in
            for index in indices {
                if interruption.received != nil {
                    group.addTask { (index, .suspended) }
                } else if let follower = await start(index) {
                    group.addTask { (index, await follower.follow()) }
                } else {
                    group.addTask { (index, refused(index)) }
                }
            }
            // The signal may have come between a look and a start.
            if interruption.received != nil { manager.totalSuspend() }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    /// The library did not take it, though the plan was looked over.
    private func refused(_ index: Int) -> Outcome {
        let trouble = Trouble(
            code: "transport.unacceptableRequest", reason: "this cannot be asked for",
            advice: "check the URL and the header fields", exitCode: .failure)
        reporter.report(Report(index: index, item: plan.items[index], event: .failed(trouble), standing: Standing()))
        return .failed(trouble)
    }

    /// Returns when the task has been started; before, it may still stand where an earlier call left it. nil when the
    /// library refuses it.
    private func start(_ index: Int) async -> Follower? {
        let item = plan.items[index]
        let held = manager.fetchTask(item.url)?.completedBytes ?? 0
        let request = DownloadRequest(
            item.url, headers: headers, fileName: item.name, checksum: item.checksum, mirrors: item.mirrors,
            priority: priority)
        let task = await withCheckedContinuation { continuation in
            manager.download(request, onMainQueue: false) { continuation.resume(returning: $0) }
        }
        // One that was refused belongs to no manager.
        guard task.manager != nil else { return nil }
        return Follower(index: index, item: item, task: task, held: held, reporter: reporter)
    }

    // MARK: The end

    /// Forgets what no later call needs, and closes the manager; true when there is nothing left to remember.
    ///
    /// When all is done that is everything. Else the files that are there are remembered, so that the same command
    /// does not download them again, and the failures that left bytes.
    func tidy(_ outcomes: [Outcome]) async -> Bool {
        let isDone = outcomes.allSatisfy { $0 == .done }
        for (item, outcome) in zip(plan.items, outcomes) {
            guard let task = manager.fetchTask(item.url) else { continue }
            if isDone || Self.isUseless(task, outcome) { await forget(task) }
        }
        let isEmpty = manager.tasks.isEmpty
        await settle()
        manager.invalidate()
        return isEmpty
    }

    /// Returns when the records of all that was reported are with the store: requests are answered in order.
    private func settle() async {
        await withCheckedContinuation { continuation in
            manager.totalSuspend(onMainQueue: false) { _ in continuation.resume() }
        }
    }

    /// Whether it failed and left no bytes, or the wrong ones.
    private static func isUseless(_ task: DownloadTask, _ outcome: Outcome) -> Bool {
        switch outcome {
        case .done, .suspended: false
        case .failed(let trouble): task.completedBytes == 0 || trouble.exitCode == .mismatch
        }
    }

    private func forget(_ task: DownloadTask) async {
        await withCheckedContinuation { continuation in
            manager.remove(task, onMainQueue: false) { _ in continuation.resume() }
        }
    }
}
