/// Lets at most `limit` items of one host pass at a time; the others wait in order.
struct HostGate<Item> {
    private struct Host {
        var passed = 0
        var waiting: [Item] = []
        var next = 0
    }

    private let limit: Int
    private var hosts: [String: Host] = [:]

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether the item may pass now; otherwise it waits.
    mutating func enter(_ item: Item, host: String) -> Bool {
        guard hosts[host, default: Host()].passed >= limit else {
            hosts[host, default: Host()].passed += 1
            return true
        }
        hosts[host, default: Host()].waiting.append(item)
        return false
    }

    /// One that passed is gone; returns the one that has passed in its place. If that one is no longer wanted,
    /// it leaves in turn.
    mutating func leave(host name: String) -> Item? {
        guard var host = hosts.removeValue(forKey: name) else { return nil }
        guard host.next < host.waiting.count else {
            host.passed -= 1
            if host.passed > 0 { hosts[name] = host }
            return nil
        }
        let item = host.waiting[host.next]
        host.next += 1
        if host.next == host.waiting.count { (host.waiting, host.next) = ([], 0) }
        hosts[name] = host
        return item
    }
}
