import Foundation
import LannerCore
import LannerLoopback
import LannerMachine

// What goes wrong.

extension World {
    // MARK: Servers

    /// Puts another version of a file on its server, unless nobody could tell it from the last one.
    func changeFile(at index: Int) {
        guard let resource = sites[index].change(at: clock.date, using: &random) else { return }
        journal.note("version", index, Int(resource.length))
        transport.serve(resource, at: sites[index].place)
    }

    /// A file changes, or the next request for it goes another way.
    func serveOtherwise() {
        let index = random.below(sites.count)
        if random.chance(1, in: 4) { return serveOtherVersion(at: index) }
        let step = random.chance(1, in: 2) ? breakdown() : oddity(of: sites[index])
        let place = random.chance(1, in: 8) ? sites[index].alias.absoluteString : sites[index].place
        journal.note("serve", index, text: "\(step)")
        transport.script(place, step)
    }

    /// The next answer may not tell that: a part may come without validators.
    private func serveOtherVersion(at index: Int) {
        changeFile(at: index)
        guard random.chance(1, in: 3) else { return }
        journal.note("silent", index)
        transport.script(sites[index].place, .fields(["ETag": "", "Last-Modified": ""]))
    }

    /// What happens to good servers.
    private func breakdown() -> ScriptedTransport.Step {
        switch random.below(7) {
        case 0, 1: .cut(afterBytes: Int64(random.below(3000)))
        case 2: .cut(afterBytes: Int64(random.below(3000)), with: .lengthMismatch)
        case 3: .failure(.timedOut)
        case 4: .failure(.cannotConnect)
        case 5: .status(503, random.chance(1, in: 2) ? ["Retry-After": "\(random.below(100))"] : [:])
        default: .status(429, ["Retry-After": date(in: random.below(100))])
        }
    }

    private func date(in seconds: Int) -> String {
        HTTPDate.text(Int64(clock.date.timeIntervalSince1970) + Int64(seconds))
    }

    /// What bad servers do.
    private func oddity(of site: Site) -> ScriptedTransport.Step {
        switch random.below(10) {
        case 0: .status([404, 403, 410, 500, 408, 425, 412, 416][random.below(8)])
        case 1: .ignoreRange
        case 2: .wrongRange(offset: Int64(random.below(200)) - 100)
        case 3: .contentRange(falseRange(of: site))
        case 4: .multipart
        // The same bytes under another name, as some networks of caches do.
        case 5: .fields(["ETag": "\"other-\(random.below(3))\""])
        case 6: .redirect(to: site.alias.absoluteString)
        case 7: .redirect(to: ["ftp://a.example/", "//", "http://[::1", "/nowhere"][random.below(4)])
        case 8: .status(416, ["Content-Range": "bytes */\(random.chance(1, in: 2) ? site.bytes.count : 5)"])
        default: site.isLying && !isUserQuiet ? lie(of: site) : .ignoreRange
        }
    }

    /// None, none that can be read, or less than is sent.
    private func falseRange(of site: Site) -> String? {
        let length = site.bytes.count
        let ranges = [nil, "bytes */\(length)", "bytes 0-1/2", "none", "bytes 0-\(length / 4)/\(length)"]
        return ranges[random.below(ranges.count)]
    }

    /// What only a digest tells.
    private func lie(of site: Site) -> ScriptedTransport.Step {
        let position = random.below(max(1, site.bytes.count))
        return random.chance(1, in: 2) ? .corrupt(at: Int64(position)) : .fields(["Content-Length": "\(position)"])
    }

    // MARK: Network and disk

    func changeNetwork() {
        let outage: TransportFault? = transport.outage == nil ? .notConnected : nil
        journal.note("network", outage == nil ? 1 : 0)
        transport.outage = outage
    }

    func changeDisk() {
        switch random.below(4) {
        case 0: disk.capacity = disk.capacity == nil ? disk.used + Int64(random.below(8000)) : nil
        case 1: disk.fail(.sync, with: .inputOutput, skipping: random.below(4))
        default:
            let operations: [MemoryDisk.Operation] = [.open, .write, .read, .allocate, .truncate, .rename, .remove]
            let fault: DiskFault = random.chance(1, in: 2) ? .inputOutput : .noSpace
            let operation = operations[random.below(operations.count)]
            disk.fail(operation, with: fault, skipping: random.below(4))
            journal.note("fault", text: "\(operation) \(fault)")
        }
        journal.note("disk", Int(disk.capacity ?? -1))
    }

    // MARK: Death

    /// The process or the machine dies, between two operations of the disk; then there is a new launch.
    func die() {
        var asked: [DownloadTask] = []
        switch random.below(8) {
        case 0, 1: end()
        case 2, 3, 4: asked = dieAtWork()
        default: break
        }
        relaunch(reboots: random.chance(1, in: 2))
        watch.compareTogether(asked, manager)
        switch random.below(4) {
        // What a manager has read and not touched yet.
        case 0: relaunch(reboots: true)
        // What it has added to.
        case 1, 2:
            _ = beBusy()
            relaunch(reboots: random.chance(1, in: 2))
        default: break
        }
    }

    private func end() {
        journal.note("end")
        manager.invalidate()
        // What was called back before is on its queues.
        while lanes.runNext() {}
        watch.allHandlersWereCalled("the manager was invalidated")
    }

    /// The process dies in the middle of what the next pieces of work do: anywhere, or where most is to lose.
    private func dieAtWork() -> [DownloadTask] {
        let (anywhere, operations) = (random.chance(1, in: 2), random.below(12))
        let last: MemoryDisk.Operation = random.chance(1, in: 2) ? .sync : .syncDirectory
        disk.state.withLock { state in
            if anywhere { state.operationsLeft = operations } else { state.lastOperation = last }
        }
        let asked = beBusy()
        if !anywhere { for _ in 0..<32 where !lanes.runAny(using: &random) { deliver() } }
        return asked
    }

    /// The user calls, and some pieces of work are done. Returns what was asked for in one call.
    private func beBusy() -> [DownloadTask] {
        var asked: [DownloadTask] = []
        if random.chance(1, in: 2), !isUserQuiet {
            if random.chance(1, in: 2) { asked = several() } else { use() }
        }
        for _ in 0..<12 { _ = lanes.runAny(using: &random) }
        return asked
    }

    func relaunch(reboots: Bool) {
        journal.note("death", reboots ? 1 : 0)
        watch.compareTotals(of: manager)
        watch.noteKnown(of: manager, disk)
        keepCoverage()
        launch.die()
        if reboots { disk.loseUnsynced(&random) }
        disk.failNothing()
        let parts = launch.parts
        launch = Launch(parts, Self.configuration(&random, conflictPolicy)) { Self.store(disk: parts.disk, $0) }
        begin()
    }

    func keepCoverage() {
        if let met = manager.coverage { coverage.add(met) }
    }

    /// Looks at a manager that is new.
    func begin() {
        manager.coverage = Coverage()
        meanwhile.manager = manager
        watch.begin(with: manager)
        lookout.begin()
        if let reason = manager.unavailable { journal.report(.memory, "the manager cannot be used: \(reason)") }
        let urls = manager.tasks.map(\.url)
        if Set(urls).count < urls.count { journal.report(.oneTask, "two downloads have one URL") }
        watch.compareLengths(of: manager, disk)
        watch.compareClaims(of: manager, sites, disk)
        for site in sites {
            for task in [site.url, site.alias].compactMap(manager.fetchTask) where task.status == .succeeded {
                watch.compareFile(of: task, site, disk)
            }
        }
        tellOfLaunch()
    }
}
