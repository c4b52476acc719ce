/// What a transport reports of the exchanges that earlier processes have left; see ``Transport/recover(_:)``.
public enum TransportRecovery: Sendable {
    /// The exchanges that are kept. Comes first, even when there is none, and again for any that turn up later or have
    /// ended since with nobody to tell it to.
    case survivors([TransportSurvivor])
    /// Whatever had happened while the process was away has been reported, or waits for the exchange to be taken up. Comes
    /// each time that the system says so.
    case delivered
}

/// An exchange of an earlier process.
public struct TransportSurvivor: Sendable, Hashable {
    /// How far it is.
    public enum Progress: Sendable, Hashable {
        /// It goes on.
        case running
        /// It has come to its end, or failed; the outcome waits.
        case ended
        /// The system or its user has ended it, as by a force quit.
        case interrupted
    }

    /// What it was begun as.
    public var name: String
    /// How far it is, as far as is known.
    public var progress: Progress

    /// Makes a survivor.
    public init(_ name: String, _ progress: Progress) {
        self.name = name
        self.progress = progress
    }
}

extension Transport {
    /// Nothing is left by a transport that ends with its process. One that outlives it has its own.
    public func recover(_ report: @escaping @Sendable (TransportRecovery) -> Void) {}

    /// Nothing is kept by a transport that ends with its process. One that outlives it has its own.
    public func discard(_ name: String) {}
}
