import Foundation

/// Waiting for several descriptors at once.
enum Poll {
    /// A descriptor and what is waited for.
    enum Interest {
        /// Bytes, or the end.
        case readable(Int32)
        /// Room for bytes, or the end.
        case writable(Int32)

        fileprivate var entry: pollfd {
            switch self {
            case .readable(let descriptor): pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            case .writable(let descriptor): pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            }
        }
    }

    /// Waits until one is ready or the time is over; says for each whether it is ready.
    ///
    /// May come back early with none ready.
    static func wait(_ interests: [Interest], milliseconds: Int32? = nil) -> [Bool] {
        var entries = interests.map(\.entry)
        guard poll(&entries, nfds_t(entries.count), milliseconds ?? -1) > 0 else {
            return interests.map { _ in false }
        }
        return entries.map { $0.revents != 0 }
    }
}
