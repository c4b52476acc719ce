import Foundation
import Lanner

/// The two standard streams. A line is written as one piece, so that lines of several threads do not mix.
enum Console {
    /// Why a line was not written.
    enum Failure: Sendable, Equatable {
        /// No one reads any more, or no one has read while the program had to end.
        case readerGone
        /// Another reason, which has been told on standard error.
        case told
    }

    /// Opens the null device in the place of each stream that is closed from the start: what is opened next, a file or a
    /// socket, would be taken for the stream.
    static func holdClosedStreams() {
        // The wrong way round, so that reading and writing still fail.
        for (stream, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(stream, F_GETFD) == -1 {
            _ = open("/dev/null", mode)
        }
    }

    /// Writes a line to standard output; nil when it is written.
    static func output(_ line: String) -> Failure? {
        let code = write(line + "\n", to: STDOUT_FILENO)
        switch code {
        case 0: return nil
        case EPIPE, ETIMEDOUT: return .readerGone
        case _:
            error("standard output cannot be written: \(FileError.words(for: code))")
            return .told
        }
    }

    /// Writes a line to standard error.
    static func message(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    /// Writes an error line to standard error.
    static func error(_ reason: String) { message("lanner: " + reason.printable) }

    /// Writes text as it is to standard error.
    static func draw(_ text: String) { write(text, to: STDERR_FILENO) }

    /// The program is to end: from now on nobody is waited for who does not read.
    static func hurry() { isHurried.withLock { $0 = true } }

    private static let isHurried = Locked(false)
    private static let streams = Locked(Streams())

    private struct Streams {
        /// Those on which no one has read when the program had to end.
        var abandoned: Set<Int32> = []
        /// What is written to in the place of a stream.
        var places: [Int32: Int32] = [:]

        /// A terminal takes what it has no room for only by waiting, unless it was opened otherwise; as it is, it belongs to
        /// other programs, too.
        mutating func place(of descriptor: Int32) -> Int32 {
            if let place = places[descriptor] { return place }
            let flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
            let own = isatty(descriptor) == 1 ? ttyname(descriptor).map { open($0, flags) } ?? -1 : -1
            places[descriptor] = own < 0 ? descriptor : own
            return own < 0 ? descriptor : own
        }
    }

    /// Writes all of a text; returns 0, or the `errno` that prevented it, which is `ETIMEDOUT` when no one reads.
    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Int32 {
        var text = text
        return streams.withLock { streams in
            guard !streams.abandoned.contains(descriptor) else { return ETIMEDOUT }
            let place = streams.place(of: descriptor)
            let code = text.withUTF8 { write(UnsafeRawBufferPointer($0), to: place) }
            if code == ETIMEDOUT { streams.abandoned.insert(descriptor) }
            return code
        }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes
        var patience = 20
        while !rest.isEmpty {
            guard hasRoom(descriptor, &patience) else { return ETIMEDOUT }
            let count = Foundation.write(descriptor, rest.baseAddress, min(rest.count, atOnce))
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } else if errno == EAGAIN {
                // Room, but not for this.
                wait(for: nil, &patience)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// What a pipe that has room takes without waiting: `PIPE_BUF`, which Swift does not see in every C library.
    #if canImport(Darwin)
    private static let atOnce = 512
    #else
    private static let atOnce = 4096
    #endif

    /// Returns when a stream can take more, or never will; false when it has taken nothing for two seconds, and the program
    /// is to end.
    private static func hasRoom(_ descriptor: Int32, _ patience: inout Int) -> Bool {
        while patience > 0 {
            if wait(for: descriptor, &patience) { return true }
        }
        return false
    }

    /// Waits for a tenth of a second, one of those that there are when the program is to end, or until a stream can take more,
    /// or never will; says whether that is so.
    @discardableResult
    private static func wait(for descriptor: Int32?, _ patience: inout Int) -> Bool {
        var entry = pollfd(fd: descriptor ?? -1, events: Int16(POLLOUT), revents: 0)
        let count = poll(&entry, 1, 100)
        if count > 0 || count < 0 && errno != EINTR { return true }
        if isHurried.withLock({ $0 }) { patience -= 1 }
        return false
    }
}
