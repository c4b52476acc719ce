import LannerCore

// What has no end, and would say nothing.

/// How much was done since the clock moved.
struct Standstill {
    fileprivate var instant: Duration?
    fileprivate var count = 0
}

extension TestBench {
    /// Lets everything happen that can happen without time passing, what is due by the clock included; false when there was
    /// nothing.
    @discardableResult
    func letHappen(_ standstill: inout Standstill) -> Bool {
        count(at: clock.now, &standstill) { limit in
            var (count, before) = (0, -1)
            while count > before, count < limit {
                before = count
                count += lanes.runAll(atMost: limit - count)
                count += clock.advance(to: clock.now, atMost: limit - count)
            }
            return count
        } > 0
    }

    func advance(to time: Duration, _ standstill: inout Standstill) {
        _ = count(at: max(time, clock.now), &standstill) { clock.advance(to: time, atMost: $0) }
        letHappen(&standstill)
    }

    /// Does work, as much as is allowed, and counts it to what was done before at that time.
    private func count(at time: Duration, _ standstill: inout Standstill, _ work: (Int) -> Int) -> Int {
        if standstill.instant != time { standstill = Standstill(instant: time) }
        let limit = workLimit.withLock { $0 }
        let count = work(limit - standstill.count)
        standstill.count += count
        if standstill.count >= limit { Touch.trap(complaint(limit)) }
        return count
    }

    private func complaint(_ limit: Int) -> String {
        let tasks = manager.tasks.prefix(10).map { task in
            let error = task.error.map { ", \($0)" } ?? ""
            return "\(Destination.redacted(task.url.absoluteString)) (\(task.status.rawValue)\(error))"
        }
        let error = log.errors.last.map { " The last error: \($0)." } ?? ""
        return """
            \(limit) pieces of work were done while the clock stood still, as if for ever. The first tasks: \
            \(tasks.joined(separator: "; ")).\(error) Do not start a task that has failed in its own handler each time.
            """
    }
}
