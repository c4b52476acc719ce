import Foundation
import LannerMachine

/// Remembers the records of a ``SessionManager``'s downloads.
///
/// A store is a map from keys to opaque values. It knows nothing of downloads, so that a database, a file or memory
/// serve alike. Methods may be called on any thread.
///
/// One object is one manager's, for as long as that lives: the keys of two would be the same.
public protocol Store: AnyObject, Sendable {
    /// Everything that is kept. Called once, before the first ``commit(_:durability:completion:)``; may block.
    ///
    /// Values that cannot be read back are left out, kept aside where a person can find them, and named in
    /// ``StoreContents/problems``: one bad value costs at most those of its commit, and of later ones of which it is
    /// not sure that the device had all before them.
    ///
    /// - Throws: ``StoreError`` when nothing can be read or the store is in use by someone else, this object by another
    ///   manager included, or closed.
    ///   No file or record that is there is changed then; directories and lock files may be made. What it took is given
    ///   back by then: such a store need not be closed.
    func load() throws -> StoreContents

    /// Applies changes, in their order, all of them or none, after all that was committed before.
    ///
    /// Returns at once. `completion` is called exactly once, on a queue of the store's, in the order of the commits:
    /// when the changes survive the death of the process (``StoreDurability/process``) or of the machine
    /// (``StoreDurability/machine``), or with why they do not. Commits that wait may be written together. One without
    /// changes is reported in its turn like any other.
    ///
    /// Called on any thread, the main one included: write on a queue of the store's own, and what has come meanwhile
    /// together. What may pass, as a database that is locked for a moment, is tried again before it is reported: a download
    /// that waits for a commit fails with it, and goes on when it is started again. The manager commits again by itself what
    /// was not kept, behind all that has happened meanwhile, until it is.
    func commit(
        _ changes: [StoreChange], durability: StoreDurability,
        completion: @escaping @Sendable (Result<Void, StoreError>) -> Void)

    /// Finishes what was committed and gives everything back, so that another store may be opened on the same place
    /// at once. Blocks until that is done; completions may come a little later, still in order. Later commits and loads
    /// fail with ``StoreError/Reason/closed``. May be called inside a completion. Calling it twice does nothing.
    func close()
}

/// One change of a store.
public enum StoreChange: Sendable, Hashable {
    /// Sets the value of a key.
    case put(key: String, value: Data)
    /// Removes a key; fine when it is not there.
    case remove(key: String)
}

/// What a commit has to survive before it is reported as done.
public enum StoreDurability: Sendable, Hashable {
    /// The death of the process: the kernel has it.
    case process
    /// The death of the machine: the device has it.
    case machine
}

/// What a store has kept.
public struct StoreContents: Sendable, Hashable {
    /// The values, in no particular order.
    public var values: [String: Data]
    /// One sentence for each value that could not be read back: what, where, and where it was set aside.
    public var problems: [String]

    /// Makes contents.
    public init(values: [String: Data] = [:], problems: [String] = []) {
        self.values = values
        self.problems = problems
    }
}

/// Why a store could not be read or written.
public struct StoreError: Error, Sendable, Hashable {
    /// What a program decides by.
    public enum Reason: Sendable, Hashable {
        /// Another manager, in this process or another, has the place open.
        case inUse
        /// Written by a later version of the library.
        case unknownVersion
        /// The disk refused.
        case disk(DiskFault)
        /// The store is closed.
        case closed
    }

    /// The reason.
    public var reason: Reason
    /// One sentence for a person: what, where, and what to do.
    public var message: String

    /// Makes an error.
    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}

extension StoreError: LocalizedError, CustomStringConvertible {
    /// The ``message``.
    public var errorDescription: String? { message }
    /// The ``message``.
    public var description: String { message }
}
