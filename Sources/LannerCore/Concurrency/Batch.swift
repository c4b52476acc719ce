/// What waits for a lane, which takes all of it at once: whoever adds the first has the lane come.
final class Batch<Element: Sendable>: Sendable {
    private let waiting = Locked<[Element]>([])
    private let lane: any Lane

    init(on lane: any Lane) {
        self.lane = lane
    }

    /// Has `work` done on the lane with this, and with all that is added until then.
    func add(_ element: Element, _ work: @escaping @Sendable ([Element]) -> Void) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(element)
            return waiting.count == 1
        }
        if isFirst { lane.run { work(self.takeAll()) } }
    }

    private func takeAll() -> [Element] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
