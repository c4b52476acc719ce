import Foundation
import Lanner

/// The downloads of one call, from the first look at what is there to the last record.
struct GetSession: Sendable {
    var plan: GetPlan
    var headers: [String: String]?
    var priority: DownloadPriority?
    var manager: SessionManager
    var reporter: any Reporter
    var interruption: Interruption
    /// The transport, where that decodes what a server has encoded.
    var decoder: String?

    /// A file that has to be downloaded.
    private struct Missing {
        /// Its place in the plan.
        var index: Int
        /// Bytes of it that are there.
        var held: Int64
    }

    /// Its place in the plan, and why the library does not take it.
    private typealias Refusal = (index: Int, error: any Error)

    /// Downloads everything that is not there. The outcomes are in the order of the plan.
    func run() async -> [DownloadOutcome] {
        let missing = await survey()
        interruption.onSignal { [manager] in
            Console.hurry()
            manager.totalSuspend()
        }
        let ended = await download(missing)
        reporter.finish()
        return plan.items.indices.map { ended[$0] ?? .done }
    }

    // MARK: What is there

    /// Reports the files that need no download; returns the others.
    private func survey() async -> [Missing] {
        var missing: [Missing] = []
        var useless: [DownloadTask] = []
        for (index, item) in plan.items.enumerated() {
            let task = manager.fetchTask(item.url)
            let isFinished = await isFinished(task)
            let validation = presence(item, isFinished ? task : nil)
            // The record of a file that is another one or gone, and the bytes for one that is there.
            if let task, isFinished == (validation == nil) { useless.append(task) }
            if let validation {
                let size = Self.size(ofFileAt: item.path)
                reporter.report(
                    DownloadReport(
                        index: index, item: item, event: .skipped(isVerified: validation == .correct),
                        standing: Standing(bytes: size, total: size)))
            } else {
                missing.append(Missing(index: index, held: isFinished ? 0 : task?.completedBytes ?? 0))
            }
        }
        await remove(useless)
        return missing
    }

    /// Whether an earlier call that was not finished has brought the file, be it that this was only found out now and is on
    /// its way to the record.
    private func isFinished(_ task: DownloadTask?) async -> Bool {
        guard let task else { return false }
        if task.status == .running {
            for await case .status(let status) in task.events where status.isAtRest { break }
        }
        return task.status == .succeeded
    }

    /// Whether the file is there and needs no download: it has the digest asked for; or, none being asked for, a task has
    /// put it there, and nobody has written to it since. nil: it does.
    private func presence(_ item: GetPlan.Item, _ finished: DownloadTask?) -> Validation? {
        if let expected = item.checksum {
            let actual = try? Checksum.digest(ofFileAt: item.path, algorithm: expected.algorithm)
            return actual == expected ? .correct : nil
        }
        guard let finished, finished.fileName == item.name, finished.hasFile,
            let size = try? PosixFileSystem().size(of: item.path), finished.totalBytes == size,
            finished.fingerprint.map({ PosixFileSystem().hasSameBytes(item.path, as: $0) }) != false
        else { return nil }
        // What was found of it then need not hold now.
        return .unknown
    }

    /// Of one that a link leads to as well.
    private static func size(ofFileAt path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    // MARK: Downloading

    private func download(_ missing: [Missing]) async -> [Int: DownloadOutcome] {
        if interruption.received != nil {
            return Dictionary(uniqueKeysWithValues: missing.map { ($0.index, leave($0)) })
        }
        var (missing, ended) = (missing, [Int: DownloadOutcome]())
        let protected = protected(missing)
        if !protected.isEmpty { missing.removeAll { protected.contains($0.index) } }
        for index in protected.sorted() { ended[index] = refuse(index, .protected(plan.items[index].path)) }
        let following = Following()
        // Before the start, so that nothing is missed that comes behind it.
        let observation = observe { following.take($0, of: $1) }
        let (refused, unstarted) = await start(missing, following)
        // The signal may have come between a look and the start.
        if interruption.received != nil { manager.totalSuspend() }
        ended.merge(await following.outcomes()) { _, outcome in outcome }
        observation?.cancel()
        for (index, error) in refused { ended[index] = refuse(index, Trouble(error)) }
        for file in unstarted { ended[file.index] = leave(file) }
        return ended
    }

    /// Tells what happens to downloads, or only how they end where nobody wants more: that costs less. Nil when there is
    /// nothing to cancel.
    private func observe(_ take: @escaping @Sendable (DownloadEvent, DownloadTask) -> Void) -> EventObservation? {
        if reporter.wantsEndsOnly {
            manager.taskCompletion(onMainQueue: false) { take(.status($0.status), $0) }
            return nil
        }
        return manager.observe(onMainQueue: false) { event in
            if case .task(let task, let event) = event { take(event, task) }
        }
    }

    /// It is not begun, for somebody has interrupted.
    private func leave(_ file: Missing) -> DownloadOutcome {
        let item = plan.items[file.index]
        let task = manager.fetchTask(item.url)
        let standing = Standing(bytes: file.held, goesOn: task.map { Standing(atRest: $0).goesOn } ?? true)
        reporter.report(DownloadReport(index: file.index, item: item, event: .suspended, standing: standing))
        return .suspended(goesOn: standing.goesOn)
    }

    /// Those in whose places are files that may not be written to.
    private func protected(_ missing: [Missing]) -> Set<Int> {
        // Mostly there is nothing but what is being fetched.
        let names = try? PosixFileSystem().list(plan.directory, atMost: 2)
        if let names, Set(names).isSubset(of: [TargetName.stateDirectory]) { return [] }
        let indices = missing.map(\.index).filter { index in
            let path = plan.items[index].path
            var status = stat()
            return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, W_OK) != 0
        }
        return Set(indices)
    }

    /// It is not begun.
    private func refuse(_ index: Int, _ trouble: Trouble) -> DownloadOutcome {
        let event = DownloadReport.Event.failed(trouble)
        reporter.report(DownloadReport(index: index, item: plan.items[index], event: event, standing: Standing()))
        return .failed(trouble)
    }

    /// Starts the tasks, as long as nobody interrupts, and has each followed from then on; returns which the library
    /// refuses, and those that were not started any more.
    private func start(
        _ missing: [Missing], _ following: Following
    ) async -> (refused: [Refusal], unstarted: ArraySlice<Missing>) {
        var refused: [Refusal] = []
        var rest = inOrder(missing)[...]
        // The first are on their way while the others are added.
        while !rest.isEmpty, interruption.received == nil {
            refused += await start(rest.prefix(Self.startedAtOnce), following)
            rest = rest.dropFirst(Self.startedAtOnce)
        }
        return (refused, rest)
    }

    /// As they are to be started: in the order of the list, but for those that it gives other priorities.
    private func inOrder(_ missing: [Missing]) -> [Missing] {
        if plan.items.allSatisfy({ $0.priority == nil }) { return missing }
        func rank(_ file: Missing) -> (Int, Int) {
            let priority = plan.items[file.index].priority ?? priority ?? .normal
            return (-Int(priority.rawValue), file.index)
        }
        return missing.sorted { rank($0) < rank($1) }
    }

    /// Returns when the tasks have been started; before, they may still stand where an earlier call left them.
    private func start(_ missing: ArraySlice<Missing>, _ following: Following) async -> [Refusal] {
        var added: [Result<DownloadTask, any Error>] = []
        await withCheckedContinuation { continuation in
            let requests = missing.map { request(for: plan.items[$0.index]) }
            added = manager.add(contentsOf: requests) { continuation.resume() }
        }
        var (followers, refused): ([Follower], [Refusal]) = ([], [])
        for (file, result) in zip(missing, added) {
            do {
                let follower = Follower(
                    index: file.index, item: plan.items[file.index], task: try result.get(), held: file.held,
                    reporter: reporter)
                follower.decoder = decoder
                followers.append(follower)
            } catch {
                refused.append((file.index, error))
            }
        }
        following.follow(followers)
        return refused
    }

    /// Enough that a commit for them costs little, and few enough that nobody waits long behind them.
    private static let startedAtOnce = 256

    private func request(for item: GetPlan.Item) -> DownloadRequest {
        var request = DownloadRequest(
            item.url, headers: headers, fileName: item.name, checksum: item.checksum, mirrors: item.mirrors,
            priority: item.priority ?? priority)
        // That of an earlier call may have been wrong.
        request.dropsChecksum = item.checksum == nil
        return request
    }

    // MARK: The end

    /// What is said when the downloads have been stopped.
    func parting(_ outcomes: [DownloadOutcome]) -> String {
        if !outcomes.contains(.suspended(goesOn: false)) { return "Stopped. The same command goes on from there." }
        if plan.items.count == 1 { return "Stopped. The same command begins anew." }
        return "Stopped. The same command goes on from there, but for what has to begin anew."
    }

    /// Forgets what no later call needs, and closes the manager; says what is left.
    ///
    /// When all is done that is everything. Else, and when the command has been stopped, the files that are there are
    /// remembered, so that the same command does not download them again, and the failures that left bytes.
    func tidy(_ outcomes: [DownloadOutcome], isStopped: Bool = false) async -> Remains {
        let isDone = !isStopped && outcomes.allSatisfy { $0 == .done }
        let useless = zip(plan.items, outcomes).compactMap { item, outcome in
            manager.fetchTask(item.url).flatMap { isDone || Self.isUseless($0, outcome) ? $0 : nil }
        }
        let own = Set(useless.map(\.id))
        let hasOthers = isDone && useless.count < manager.taskCounts.all
        let others = hasOthers ? manager.tasks.filter { !own.contains($0.id) } : []
        let isEmpty = await isDone ? dropAll(useless) : forget(useless)
        // Somebody may have removed the state meanwhile, and the library has made it again.
        StateDirectory(in: plan.directory).seal.put()
        manager.invalidate()
        // The process ends now: to give back the memory piece by piece would only take time.
        _ = Unmanaged.passRetained(manager)
        // Records that cannot be read here are for a later version of the program, and so are their files.
        if isEmpty, manager.restorationProblems.isEmpty { return .nothing }
        return words(for: others).map(Remains.others) ?? .own
    }

    /// What a user would not find, and may want to be rid of.
    private func words(for others: [DownloadTask]) -> String? {
        let unfinished = others.filter { $0.status != .succeeded && $0.completedBytes > 0 }
        guard let first = unfinished.first else { return nil }
        let bytes = unfinished.reduce(Int64(0)) { $0.addingClamped($1.completedBytes) }
        let state = StateDirectory(in: plan.directory).path.printable
        let shown = Destination.redacted(first.url.absoluteString)
        return "lanner: \(state) keeps \(Figures.bytes(bytes)) of what other calls have not finished, such as "
            + "\(shown); the same call goes on with that, or remove \(state)"
    }

    /// The records of many go faster together than the tasks do, one after the other; true when those were all.
    private func dropAll(_ tasks: [DownloadTask]) async -> Bool {
        let areDropped = await withCheckedContinuation { continuation in
            manager.dropRecords(of: tasks) { continuation.resume(returning: $0) }
        }
        return areDropped && tasks.count == manager.taskCounts.all
    }

    /// Returns when the records of all that was reported are with the store: requests are answered in order. True when no
    /// task is left.
    private func forget(_ tasks: [DownloadTask]) async -> Bool {
        await remove(tasks)
        let isEmpty = manager.tasks.isEmpty
        await withCheckedContinuation { continuation in
            manager.totalSuspend(onMainQueue: false) { _ in continuation.resume() }
        }
        return isEmpty
    }

    /// Whether it was stopped or failed and left no bytes, or the wrong ones, or some that the same call could not go on from.
    private static func isUseless(_ task: DownloadTask, _ outcome: DownloadOutcome) -> Bool {
        switch outcome {
        case .done: false
        // All that would be left of it is what was to be sent, credentials perhaps.
        case .suspended(let goesOn): task.completedBytes == 0 || !goesOn
        case .failed(let trouble):
            task.completedBytes == 0 || trouble.exitCode == .mismatch || !Standing(atRest: task).goesOn
        }
    }

    private func remove(_ tasks: [DownloadTask]) async {
        if tasks.isEmpty { return }
        await withCheckedContinuation { continuation in
            manager.remove(tasks, onMainQueue: false) { _ in continuation.resume() }
        }
    }
}

extension Trouble {
    /// To rename another file to its name would take no more than the directory's permission.
    fileprivate static func protected(_ path: String) -> Trouble {
        Trouble(
            code: "disk.notPermitted", reason: "\(path.printable) may not be written to",
            advice: "choose another name, or change its permissions", exitCode: .disk)
    }
}

/// What is left behind the end of a call.
enum Remains: Equatable {
    case nothing
    /// What the same call goes on with, or what cannot be read.
    case own
    /// Only that of other calls, in a sentence.
    case others(String)
}
