/// Handles whose transfers have ended well, for the next ones: to make a handle and tell it what is the same for all
/// transfers takes longer than to aim it. Only on the loop's thread.
struct SpareHandles {
    /// What a few downloads use at once. Each has some kilobytes.
    private static let limit = 16

    private let options: CurlTransport.Options
    private let mayKeep: Bool
    private var spare: [Handle] = []

    init(_ options: CurlTransport.Options) {
        self.options = options
        mayKeep = Library.keepsLimits || (options.connectionsPerHost ?? options.connections) == nil
    }

    /// One to be aimed; nil when there is no memory.
    mutating func take() -> Handle? {
        spare.popLast() ?? Handle(options)
    }

    /// Keeps a handle, unless there are enough; it is not in the loop's handle any more.
    mutating func give(_ handle: Handle) {
        guard mayKeep, spare.count < Self.limit, handle.forgetTransfer(options) else { return }
        spare.append(handle)
    }

    mutating func drain() {
        spare = []
    }
}
