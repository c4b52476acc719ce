import Foundation

// What a transport hands over as a file. Before the answer is judged only its first bytes are read, since nobody knows how
// much memory the others would take; it stays open meanwhile, whatever becomes of its name.

/// A file that a transport has made, read from its beginning to its end, unless it becomes the file of the download.
struct HandedFile: Sendable {
    private let file: any OpenFile
    private let path: String
    let size: Int64
    private var position: Int64 = 0
    /// Where it is taken in; nil where it was not.
    private(set) var taken: TakenFile?

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

    /// Takes it in, as long as it is sure to be where it was made.
    mutating func takeIn(by takeIn: (String) -> TakenFile?) { taken = takeIn(path) }

    /// Whether it can be the file of a body as it is.
    func mayBecome(_ body: Range<Int64>) -> Bool { taken != nil && body.lowerBound == 0 && size <= body.upperBound }

    private static func unreadable(_ path: String, _ why: String) -> TransportFailure {
        TransportFailure(.other, "The file that the transport made at \(path) cannot be read: \(why)")
    }
}

/// A file of a transport's under a name of ours, which goes with this unless another has it by then.
final class TakenFile: Sendable {
    let path: String
    private let fileSystem: any FileSystem

    init(_ path: String, _ fileSystem: any FileSystem) {
        (self.path, self.fileSystem) = (path, fileSystem)
    }

    deinit {
        try? fileSystem.remove(path)
    }
}

extension Sink {
    /// What is left of a file.
    struct Unread {
        /// Nil while somebody reads it.
        var file: HandedFile?
        /// Its first bytes, where it may become the file as a whole.
        var early = Chunk()
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
                if isMuch { file.takeIn(by: takeIn) }
                // Before the transport has handed over all: whoever waits for that waits for the rest as well.
                if leave(file) { return report(.waits) }
                guard let piece = try file.next() else { return }
                take(piece)
            }
        } catch {
            end(error)
        }
    }

    /// Whether so much has come that a rest waits until the answer is judged.
    private var isMuch: Bool {
        state.withLock { state in
            if case .undecided(let early) = state.phase { early.bytes.count >= Chunk.standardSize } else { false }
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
        let (file, target) = state.withLock { state -> (HandedFile?, PartialFile?) in
            guard case .open(let target) = state.phase else { return (nil, nil) }
            defer { state.unread?.file = nil }
            let isToBecomeFile = state.unread.map { $0.early.count > 0 } ?? false
            return (state.unread?.file, isToBecomeFile ? target.file : nil)
        }
        guard let file else { return }
        guard let target, let taken = file.taken else { return beginReading(file) }
        target.adopt(taken.path, of: file.size) { isAdopted in
            withExtendedLifetime(taken) {}
            if isAdopted { self.endUnread(nil, received: file.size) } else { self.beginReading(file) }
        }
    }

    private func beginReading(_ file: HandedFile) {
        lanes.makeLane("handover").run {
            self.putEarly()
            self.read(file)
        }
    }

    /// What was read of a file before it was known where it goes.
    private func putEarly() {
        state.withLock { state in
            guard case .open(var target) = state.phase, let early = state.unread?.early else { return }
            state.unread?.early = Chunk()
            for piece in early.pieces { _ = target.take(piece, &state.received) }
            state.phase = .open(target)
        }
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
