import Foundation
import Lanner

/// The two standard streams. A line is written as one piece, so that lines of several threads do not mix.
enum Console {
    /// Why a line was not written.
    enum Failure: Sendable, Equatable {
        /// No one reads any more.
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
        case EPIPE: return .readerGone
        case _:
            error("standard output cannot be written: \(String(cString: strerror(code)))")
            return .told
        }
    }

    /// Writes a line to standard error.
    static func message(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    /// Writes an error line to standard error.
    static func error(_ reason: String) { message("lanner: " + reason.printable) }

    /// Writes text as it is to standard error.
    static func draw(_ text: String) { write(text, to: STDERR_FILENO) }

    private static let lock = Locked(())

    /// Writes all of a text; returns 0, or the `errno` that prevented it.
    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Int32 {
        var text = text
        return lock.withLock { _ in text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) } }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var rest = bytes
        while !rest.isEmpty {
            let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } else if errno == EAGAIN {
                waitForRoom(descriptor)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }

    /// Returns when a pipe that does not block can take more, or never will.
    private static func waitForRoom(_ descriptor: Int32) {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
    }
}
