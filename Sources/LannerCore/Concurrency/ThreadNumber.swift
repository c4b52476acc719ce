import Foundation

/// Tells a thread from all others that are alive.
struct ThreadNumber: Sendable, Hashable {
    private let number: UInt

    /// The calling thread.
    static var current: ThreadNumber {
        #if canImport(Glibc)
        ThreadNumber(number: UInt(pthread_self()))
        #else
        ThreadNumber(number: UInt(bitPattern: pthread_self()))
        #endif
    }
}
