import Foundation
import LannerCore
import LannerMachine

// What the user does.

extension World {
    /// One call, any of them.
    func use() {
        if isUserQuiet { return pass() }
        switch random.below(16) {
        case 0..<5: download()
        case 5..<10: if let task = anyTask { userVerb()(task, manager) }
        case 10: everyVerb()
        case 11: configure()
        case 12:
            switch random.below(4) {
            case 0: checkFile()
            case 1: if let task = manager.succeededTasks.randomElement(using: &random) { expectDigests(of: task) }
            default: askForAnother()
            }
        case 13: deleteFile()
        case 14:
            if random.chance(1, in: 2) {
                changeContext()
            } else if let task = anyTask, random.chance(3, in: 4) {
                switch random.below(3) {
                case 0: expire(task)
                case 1: prioritize(task)
                default: limit(task)
                }
            } else {
                reorder()
            }
        default: several()
        }
    }

    /// Something happens to a task that is where none stays for long: most often where they come seldom.
    func disturb() {
        guard let task = taskInPassing(atLeast: 1) else { return work() }
        disturb(task)
    }

    /// The same where they come most seldom, or hardly ever with an answer that waits.
    func disturbTheRarest() {
        guard let task = taskInPassing(atLeast: 2) else { return }
        if links?.isAsked(for: task) == true { return giveLink(to: task) }
        while manager.place(of: task)?.brevity == 3 {
            disturb(task)
            if random.chance(1, in: 2) { break }
        }
    }

    private func taskInPassing(atLeast brevity: Int) -> DownloadTask? {
        if isUserQuiet { return nil }
        let tasks = manager.tasks.map { (task: $0, brevity: manager.place(of: $0)?.brevity ?? 0) }
        guard let most = tasks.map(\.brevity).max(), most >= brevity else { return nil }
        let least = random.chance(3, in: 4) ? most : brevity
        let found = tasks.filter { $0.brevity >= least }
        return found[random.below(found.count)].task
    }

    private func disturb(_ task: DownloadTask) {
        if links?.isAsked(for: task) == true, random.chance(1, in: 2) { return giveLink(to: task) }
        switch random.below(11) {
        case 0: giveLink()
        case 1: leaveAndComeBack()
        // Of a file that is moved the name cannot be kept.
        case 2: disk.fail(.syncDirectory, with: .inputOutput)
        case 3: readdress(task)
        case 4: manager.moveTask(at: 0, to: manager.tasks.count - 1)
        case 5: expire(task)
        case 6: if random.chance(1, in: 2) { prioritize(task) } else { limit(task) }
        case 7: expectDigests(of: task)
        default: userVerb()(task, manager)
        }
    }

    /// Gives another URL to a task that has failed, though its file is in its place.
    private func askForAnother() {
        let tasks = manager.tasks.filter { $0.status == .failed && disk.contents(of: $0.filePath) != nil }
        if let task = tasks.first { readdress(task) }
    }

    /// Asks for a task again, by another URL.
    private func readdress(_ task: DownloadTask) {
        let index = random.below(servers.sites.count)
        // Its file may be in the place of another's.
        if conflictPolicy == .replace, task.key == task.url.absoluteString { return }
        download(index, key: task.key)
    }

    /// Gives a digest or pieces to a task that may have its file by now: mostly those of the present version.
    private func expectDigests(of task: DownloadTask) {
        guard let index = servers.sites.firstIndex(where: { $0.leads(from: task.url) }) else { return }
        let site = servers.sites[index]
        let algorithm = Checksum.Algorithm.allCases[random.below(4)]
        let (isWrong, isOfPieces) = (random.chance(1, in: 4), random.chance(1, in: 4))
        let wrong = [UInt8(truncatingIfNeeded: steps)]
        let length = pieceLength(of: site)
        let pieces = isOfPieces ? isWrong ? wrong.pieces(length: length, .md5) : site.pieces(length: length) : nil
        let digest = isWrong ? wrong.digest(algorithm) : servers.digest(algorithm, ofSiteAt: index)
        chronicle.note("digests", index, isWrong ? 1 : 0, text: "\(task.url.path) \(isOfPieces ? "pieces" : "")")
        auditor.noteStart()
        auditor.noteAsked(task.identity, task.url, isOfPieces ? nil : digest, pieces)
        auditor.expectCall("digests").make { called in
            let request = DownloadRequest(
                task.url, checksum: isOfPieces ? nil : digest, pieces: pieces, key: task.key)
            manager.download(request) { _ in called?() }
        }
    }

    /// Any task, if there is one.
    private var anyTask: DownloadTask? {
        let tasks = manager.tasks
        return tasks.isEmpty ? nil : tasks[random.below(tasks.count)]
    }

    private func download() {
        let key = random.chance(1, in: 4) ? "key \(random.below(2))" : nil
        download(random.below(servers.sites.count), key: key)
    }

    private func download(_ index: Int, key: String?) {
        let site = servers.sites[index]
        let url = random.chance(1, in: 4) ? site.alias : site.url
        let headers = random.chance(1, in: 2) ? Lookout.secrets(for: url) : nil
        let name = fileName(key, index)
        let pieces = random.chance(1, in: 3) ? site.pieces(length: pieceLength(of: site)) : nil
        let checksum = digest(of: site, at: index, isNeeded: site.needsChecksum && pieces == nil)
        let list = [nil, "a", "b"][random.below(3)]
        let priority = random.chance(1, in: 2) ? anyPriority : nil
        // Those that were given before may be of another file.
        let unchanged: [any URLConvertible]? = key == nil && !wasReaddressed(url) ? nil : []
        let mirrors: [any URLConvertible]? =
            [unchanged, unchanged, [], [site.mirror], [Self.nowhere, site.mirror]][random.below(5)]
        let (destination, policy) = ownPlace(name)
        let metadata = random.chance(1, in: 4) ? ["step": "\(steps)"] : nil
        let starts = random.chance(1, in: 8) ? false : nil
        chronicle.note("download", index, text: "\(url)")
        auditor.noteStart()
        let identity = Identity(context: manager.context, key: key ?? url.absoluteString)
        auditor.noteAsked(identity, url, checksum, pieces)
        var task: DownloadTask?
        auditor.expectCall("download").make { called in
            let request = DownloadRequest(
                url, headers: headers, fileName: name, checksum: checksum, pieces: pieces, mirrors: mirrors, key: key,
                list: list, priority: priority, destination: destination, conflictPolicy: policy, metadata: metadata,
                startsImmediately: starts)
            task = manager.download(request) { _ in called?() }
        }
        guard let task else { return }
        auditor.observe(task)
        if random.chance(1, in: 2) { listen(to: task) }
    }

    /// Whether the task that is known by a URL was given another.
    private func wasReaddressed(_ url: URL) -> Bool {
        manager.fetchTask(url).map { $0.url != url } == true
    }

    /// A mirror that has nothing.
    private static let nowhere = "https://m.example/nothing"

    /// One place for two URLs of one file; for different files only where none replaces another.
    private func fileName(_ key: String?, _ index: Int) -> String? {
        if conflictPolicy == .replace, let key { return "\(key) \(manager.context ?? "")" }
        return random.chance(1, in: 4) ? "name" + (conflictPolicy == .replace ? "-\(index)" : "") : nil
    }

    /// A destination that others have as well, and what happens when it is taken; only where nothing is replaced.
    private func ownPlace(_ name: String?) -> (destination: String?, policy: FileConflictPolicy?) {
        guard conflictPolicy != .replace else { return (nil, nil) }
        let destination = name == nil && random.chance(1, in: 6) ? "sub/name" : nil
        return (destination, random.chance(1, in: 6) ? [.keepBoth, .fail][random.below(2)] : nil)
    }

    /// A few pieces, or many.
    private func pieceLength(of site: SimulatedSite) -> Int {
        max(site.bytes.count / 64, 1 << (6 + random.below(8)))
    }

    /// Sometimes none, sometimes a wrong one; always one where nothing else would tell that the server lies.
    private func digest(of site: SimulatedSite, at index: Int, isNeeded: Bool) -> Checksum.Digest? {
        guard isNeeded || random.chance(1, in: 3) else { return nil }
        let algorithm = Checksum.Algorithm.allCases[random.below(4)]
        if random.chance(1, in: 8) { return [UInt8(truncatingIfNeeded: steps)].digest(algorithm) }
        return servers.digest(algorithm, ofSiteAt: index)
    }

    /// Calls back, and calls the manager from there.
    private func listen(to task: DownloadTask) {
        let verb = userVerb()
        let handler: DownloadTask.Handler = { [weak manager, chronicle] task in
            chronicle.note("callback", text: task.status.rawValue)
            if let manager, !chronicle.isHealed { verb(task, manager) }
        }
        switch random.below(4) {
        case 0: task.progress(handler: handler)
        case 1: task.success(handler: handler)
        case 2: task.failure(handler: handler)
        default: task.completion(handler: handler)
        }
    }

    /// A call for one task that can be made now or in a callback.
    func userVerb() -> @Sendable (DownloadTask, SessionManager) -> Void {
        let number = random.below(6)
        let completely = random.chance(1, in: 2)
        let expected = auditor.expectCall("verb \(number)")
        return { [chronicle, disk, starts = auditor.starts, leaving = auditor.leaving] task, manager in
            chronicle.note("verb", number, text: task.url.path)
            if number < 2 { starts.withLock { $0 += 1 } }
            if number > 3 { leaving.note(task, completely: completely && number == 5, disk) }
            expected.make { called in
                let handler = called.map { called -> DownloadTask.Handler in { _ in called() } }
                switch number {
                case 0, 1: manager.start(task, handler: handler)
                case 2: manager.suspend(task, handler: handler)
                // Its place is given to another or not, as the seed says.
                case 3: manager.suspend(task, startsNext: completely, handler: handler)
                case 4: manager.cancel(task, startsNext: completely, handler: handler)
                default: manager.remove(task, completely: completely, handler: handler)
                }
            }
        }
    }

    private func everyVerb() {
        let number = random.below(10)
        let completely = random.chance(1, in: 2)
        chronicle.note("all", number)
        auditor.noteStart()
        if number == 6 || number == 8 {
            manager.tasks.forEach { auditor.leaving.note($0, completely: completely && number == 8, disk) }
        }
        auditor.expectCall("total \(number)").make { called in
            let handler: SessionManager.Handler = { _ in called?() }
            switch number {
            case 0..<3: manager.totalStart(handler: handler)
            case 3..<6: manager.totalSuspend(handler: handler)
            case 6: manager.totalCancel(handler: handler)
            case 7: manager.startWaiting(list: completely ? "a" : nil, handler: handler)
            case 9: manager.synchronize { _ in called?() }
            default: manager.totalRemove(completely: completely, handler: handler)
            }
        }
    }

    /// Asks for several files in one call; returns the downloads of which no record was before.
    @discardableResult
    func several() -> [DownloadTask] {
        let urls = servers.sites.filter { !$0.needsChecksum }.flatMap { [$0.url, $0.alias] }
        // Mirrors that were given with another URL stay.
        let picked = urls.filter { random.chance(1, in: 4) && !wasReaddressed($0) }
        chronicle.note("several", picked.count)
        auditor.noteStart()
        let lastID = manager.lastID
        var tasks: [DownloadTask] = []
        // Whoever stops one of them before they are started has it recorded alone.
        meanwhile.holdStill {
            auditor.expectCall("multiDownload").make { called in
                tasks = manager.multiDownload(picked) { _ in called?() }
            }
        }
        for task in tasks {
            auditor.noteAsked(task.identity, task.url)
            auditor.observe(task)
        }
        return tasks.filter { $0.id > lastID }
    }

    private func reorder() {
        let count = manager.tasks.count
        if random.chance(1, in: 4) {
            chronicle.note("sort")
            return manager.tasksSort { $0.url.path > $1.url.path }
        }
        let (source, destination) = (random.below(count), random.below(count))
        chronicle.note("move", source, destination)
        manager.moveTask(at: source, to: destination)
    }

    /// Another user's downloads come in the place of those that are there; or nobody's.
    func changeContext() {
        let number = random.below(8)
        chronicle.note("context", number)
        if number < 7 { return manager.context = Self.contexts[number % 2] }
        auditor.expectCall("shutDown").make { called in manager.shutDown { _ in called?() } }
    }

    /// Another context, and perhaps the same again before anything else can happen.
    private func leaveAndComeBack() {
        let context = manager.context
        changeContext()
        if random.chance(1, in: 2) { manager.context = context }
    }

    /// The URL of a task expires, or has.
    private func expire(_ task: DownloadTask) {
        chronicle.note("expire", text: task.url.path)
        task.linkExpirationDate = clock.date + Double(random.below(60) - 10)
    }

    private var anyPriority: DownloadPriority { DownloadPriority.allCases[random.below(5)] }

    private func prioritize(_ task: DownloadTask) {
        let priority = anyPriority
        chronicle.note("priority", Int(priority.rawValue), text: task.url.path)
        task.priority = priority
    }

    private func limit(_ task: DownloadTask) {
        let limit = random.chance(1, in: 4) ? nil : Int64(2048 << random.below(5))
        chronicle.note("limit", Int(limit ?? -1), text: task.url.path)
        task.maximumBytesPerSecond = limit
    }

    private func configure() {
        chronicle.note("configure")
        lookout.lookBeforeOtherLimits(at: manager, transport)
        manager.configuration = Self.configuration(&random, conflictPolicy)
    }

    /// Takes away a finished file behind the manager's back, or all.
    private func deleteFile() {
        if random.chance(1, in: 4) { return clearCache() }
        guard let task = manager.succeededTasks.first else { return }
        // Another may just have put its own there, or had it there already, where the task was just given another name.
        if isPlaceShared(by: task) || foreignPaths.contains(task.filePath) { return }
        chronicle.note("delete", text: task.url.path)
        auditor.noteLoss(of: task)
        try? disk.remove(task.filePath)
    }

    /// Takes away all finished files that lie in the manager's own directory, and nothing else.
    private func clearCache() {
        let tasks = manager.allTasks
        // One that has it, of which nobody was told yet, would succeed without it.
        let isUntold = tasks.contains { task in
            let place = manager.place(of: task)
            return place == .moving || place == .recording || place == .succeeded && task.status != .succeeded
        }
        if isUntold { return }
        chronicle.note("clear")
        let directory = manager.cache.downloadFilePath
        let (before, others) = (Set(disk.paths), disk.paths.filter { $0.directory != directory })
        try? manager.cache.clear()
        for task in tasks where before.contains(task.filePath) && disk.contents(of: task.filePath) == nil {
            auditor.noteLoss(of: task)
        }
        forgetForeignFiles()
        let lost = Set(others).subtracting(disk.paths)
        if !lost.isEmpty { chronicle.report(.memory, "with finished files went \(lost.sorted())") }
    }

    /// Whether another download has, or wants, the same place.
    func isPlaceShared(by task: DownloadTask) -> Bool {
        manager.allTasks.contains { $0 !== task && $0.filePath == task.filePath }
    }

    private func checkFile() {
        guard let task = anyTask else { return }
        let file = disk.contents(of: task.filePath)
        let codes = ["", String(repeating: "0", count: 32), file?.digest(.md5).hexadecimal ?? ""]
        let code = codes[random.below(3)]
        chronicle.note("validate", text: task.url.path)
        auditor.expectCall("validateFile").make { called in
            task.validateFile(code: code, type: .md5) { _ in called?() }
        }
    }
}

extension Coverage.Place {
    /// How soon a download leaves it, and how seldom it comes there; 0 where it may stay.
    fileprivate var brevity: Int {
        switch self {
        case .none, .waiting, .requesting, .transferring, .closing, .suspended, .failed, .succeeded: 0
        case .openingFile, .asking, .forgetting, .discarding, .verifying: 1
        case .keeping, .announcing, .moving, .recording: 2
        case .readdressing, .waitingToRecord, .disowning: 3
        }
    }
}
