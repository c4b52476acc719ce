import Foundation

// What a transport hands over as a file. A large one is taken in, and becomes the file of the download when it turns out to be
// all of it. Where it cannot be, only its first bytes are read before the answer is judged, since nobody knows how much memory
// the others would take; it stays open meanwhile, whatever becomes of its name.

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

    /// Takes it in where that is worth it, as long as it is sure to be where it was made; says whether it has.
    mutating func takeIn(by takeIn: (String) -> TakenFile?) -> Bool {
        taken = size < Int64(Chunk.standardSize) ? nil : takeIn(path)
        return taken != nil
    }

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
        /// How the exchange has ended, if it has.
        var ending: Outcome?
    }

    func take(fileAt url: URL) {
        if outstanding == nil { return }
        do throws(TransportFailure) {
            var file = try HandedFile(at: url)
            state.withLock { $0.hasFile = true }
            let isTaken = file.takeIn(by: takeIn)
            // Not to its end once nobody takes it any more: that of the exchange is waited for.
            while !isClosed {
                // Before the transport has handed over all: whoever waits for that waits for the rest as well.
                if isTaken || isMuch, leave(file) {
                    report(.waits)
                    // The answer may be judged by now, and then nobody else would.
                    return readOn()
                }
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

    /// Has the rest of a file wait, unless nobody takes it any more.
    private func leave(_ file: HandedFile) -> Bool {
        state.withLock { state in
            if case .closed = state.phase { return false }
            state.unread = Unread(file: file)
            return true
        }
    }

    /// Goes on with a file that has waited, as far as the disk keeps up; one that is all of the body becomes the file.
    func readOn() {
        let (file, target) = state.withLock { state -> (HandedFile?, PartialFile?) in
            guard case .open(let target) = state.phase, let file = state.unread?.file else { return (nil, nil) }
            state.unread?.file = nil
            let isAll = state.received == 0 && target.untouched.map(file.mayBecome) == true
            return (file, isAll ? target.file : nil)
        }
        guard let file else { return }
        guard let target, let taken = file.taken else { return beginReading(file) }
        target.adopt(taken.path, of: file.size) { isAdopted in
            withExtendedLifetime(taken) {}
            if isAdopted { self.endUnread(nil, received: file.size) } else { self.beginReading(file) }
        }
    }

    private func beginReading(_ file: HandedFile) {
        lanes.makeLane("handover").run { self.read(file) }
    }

    private func read(_ file: HandedFile) {
        var file = file
        do throws(TransportFailure) {
            while let (bytes, marks) = outstanding {
                if bytes > marks.high { return wait(with: file) }
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
