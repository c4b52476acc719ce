import Foundation

/// A value behind the platform's lock. A copy is the same value behind the same lock.
///
/// Never held while foreign code runs: what is called under it is ours and short. Inlinable, since the other targets
/// would otherwise copy values through it by their metadata.
// @unchecked Sendable: the value in `storage` is only touched between `lock` and `unlock` of its mutex.
@usableFromInline package struct Locked<Value>: @unchecked Sendable {
    #if canImport(Darwin)
    @usableFromInline typealias Mutex = os_unfair_lock
    #else
    @usableFromInline typealias Mutex = pthread_mutex_t
    #endif

    /// Both in one allocation, and behind pointers: the mutex must not move, and no access to a value under a lock needs to
    /// be checked once more for being exclusive.
    @usableFromInline final class Storage: ManagedBuffer<Mutex, Value> {
        deinit {
            withUnsafeMutablePointers { mutex, value in
                #if !canImport(Darwin)
                pthread_mutex_destroy(mutex)
                #endif
                _ = value.deinitialize(count: 1)
            }
        }
    }

    #if !canImport(Darwin)
    private static func prepare(_ mutex: UnsafeMutablePointer<Mutex>) {
        #if canImport(Glibc)
        // A thread waits for it a moment before it sleeps: what is done under a lock takes less than to sleep and wake.
        var kind = pthread_mutexattr_t()
        pthread_mutexattr_init(&kind)
        pthread_mutexattr_settype(&kind, CInt(PTHREAD_MUTEX_ADAPTIVE_NP))
        pthread_mutex_init(mutex, &kind)
        pthread_mutexattr_destroy(&kind)
        #else
        pthread_mutex_init(mutex, nil)
        #endif
    }
    #endif

    @usableFromInline let storage: ManagedBuffer<Mutex, Value>

    package init(_ value: Value) {
        storage = Storage.create(minimumCapacity: 1) { _ in Mutex() }
        storage.withUnsafeMutablePointers { mutex, place in
            #if !canImport(Darwin)
            Self.prepare(mutex)
            #endif
            place.initialize(to: value)
        }
    }

    /// Runs `body` with the value while no one else can.
    @inlinable
    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try storage.withUnsafeMutablePointers { mutex, value in
            #if canImport(Darwin)
            os_unfair_lock_lock(mutex)
            defer { os_unfair_lock_unlock(mutex) }
            #else
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            #endif
            return try body(&value.pointee)
        }
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
