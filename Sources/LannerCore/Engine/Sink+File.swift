import Foundation

// What a transport hands over as a file. Before the answer is judged only its first bytes are read, since nobody knows how
// much memory the others would take; it stays open meanwhile, whatever becomes of its name.

/// A file that a transport has made, read from its beginning to its end.
struct HandedFile: Sendable {
    private let file: any OpenFile
    private let path: String
    private let size: Int64
    private var position: Int64 = 0

    init(at url: URL) throws(TransportFailure) {
        path = url.resolvingSymlinksInPath().path
        do throws(FileError) {
            file = try PosixFileSystem().open(path, .read)
            size = try file.size()
        } catch {
            throw Self.unreadable(path, "\(error)")
        }
    }

    /// The next bytes, at most a chunk; nil at the end.
    mutating func next() throws(TransportFailure) -> Data? {
        var piece = Data(count: Chunk.standardSize)
        let read = piece.withUnsafeMutableBytes { buffer in
            Result { () throws(FileError) in try file.read(into: buffer, at: position) }
        }
        do throws(FileError) {
            let count = try read.get()
            position += Int64(count)
            if count > 0 { return piece.prefix(count) }
        } catch {
            throw Self.unreadable(path, "\(error)")
        }
        if position < size { throw Self.unreadable(path, "it was cut meanwhile") }
        return nil
    }

    private static func unreadable(_ path: String, _ why: String) -> TransportFailure {
        TransportFailure(.other, "The file that the transport made at \(path) cannot be read: \(why)")
    }
}

extension Sink {
    /// What is left of a file.
    struct Unread {
        /// Nil while somebody reads it.
        var file: HandedFile?
        /// How the exchange has ended, if it has.
        var ending: Report?
    }

    func take(fileAt url: URL) {
        if outstanding == nil { return }
        do throws(TransportFailure) {
            var file = try HandedFile(at: url)
            state.withLock { $0.hasFile = true }
            // Not to its end once nobody takes it any more: that of the exchange is waited for.
            while !isClosed {
                // Before the transport has handed over all: whoever waits for that waits for the rest as well.
                if leave(file) { return report(.waits) }
                guard let piece = try file.next() else { return }
                take(piece)
            }
        } catch {
            end(error)
        }
    }

    /// Whether the rest of a file waits until the answer is judged, since enough of it does already.
    private func leave(_ file: HandedFile) -> Bool {
        state.withLock { state in
            guard case .undecided(let early) = state.phase, early.bytes.count >= Chunk.standardSize else {
                return false
            }
            state.unread = Unread(file: file)
            return true
        }
    }

    /// Goes on with a file that has waited, as far as the disk keeps up.
    func readOn() {
        let file = state.withLock { state -> HandedFile? in
            guard case .open = state.phase else { return nil }
            defer { state.unread?.file = nil }
            return state.unread?.file
        }
        if let file { lanes.makeLane("handover").run { self.read(file) } }
    }

    private func read(_ file: HandedFile) {
        var file = file
        do throws(TransportFailure) {
            while let outstanding {
                if outstanding > Self.highWater { return wait(with: file) }
                guard let piece = try file.next() else { return endUnread(nil) }
                put(piece)
            }
        } catch {
            endUnread(error)
        }
    }

    private func wait(with file: HandedFile) {
        state.withLock { $0.unread?.file = file }
        // What would have gone on with it may have come between the look and this.
        relieve()
    }
}
