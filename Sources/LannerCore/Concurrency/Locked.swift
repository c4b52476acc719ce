#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A value behind the platform's lock.
///
/// Never held while foreign code runs: what is called under it is ours and short. Inlinable, since the other targets
/// would otherwise copy values through it by their metadata.
// @unchecked Sendable: what `value` points to is only touched between `lock` and `unlock` of `mutex`.
@usableFromInline package final class Locked<Value>: @unchecked Sendable {
    #if canImport(Darwin)
    @usableFromInline typealias Mutex = os_unfair_lock
    #else
    @usableFromInline typealias Mutex = pthread_mutex_t
    #endif

    // Behind pointers: the mutex must not move, and no access to a value under a lock needs to be checked once more for
    // being exclusive.
    @usableFromInline let mutex: UnsafeMutablePointer<Mutex>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    package init(_ value: Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: Mutex())
        #if !canImport(Darwin)
        pthread_mutex_init(mutex, nil)
        #endif
    }

    deinit {
        #if !canImport(Darwin)
        pthread_mutex_destroy(mutex)
        #endif
        mutex.deinitialize(count: 1)
        mutex.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// Runs `body` with the value while no one else can.
    @inlinable
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        #if canImport(Darwin)
        os_unfair_lock_lock(mutex)
        defer { os_unfair_lock_unlock(mutex) }
        #else
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        #endif
        return try body(&value.pointee)
    }

    /// Puts something in a place. What was there is let go outside the lock: it may be the last to hold an object that
    /// calls us while it goes.
    package func replace<Part>(_ place: WritableKeyPath<Value, Part>, by new: Part) {
        _ = withLock { value in
            let old = value[keyPath: place]
            value[keyPath: place] = new
            return old
        }
    }
}
