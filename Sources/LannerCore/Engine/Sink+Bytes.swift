import Foundation

// What a sink holds of the bytes it was given.

extension Sink {
    /// What an answer has brought before it was judged.
    struct Early {
        var bytes = Chunk()
        var ending: Outcome?
    }

    /// Where an answer's bytes go.
    struct Target {
        let file: PartialFile
        /// Where the next chunk begins.
        private var position: Int64
        /// The first position that is not the body's, and whether the answer goes on behind it.
        private var end: Int64
        private var isCut = false
        private var chunk = Chunk()

        init(file: PartialFile, position: Int64, end: Int64) {
            self.file = file
            self.position = position
            self.end = end
        }

        /// Gathers what belongs to the body, counts it, and hands over full chunks; false when there is more.
        mutating func take(_ data: Data, _ received: inout Int64) -> Bool {
            var rest = data.prefix(Int(min(Int64(data.count), end - position - Int64(chunk.count))))
            let isAll = rest.count == data.count
            received += Int64(rest.count)
            while !rest.isEmpty {
                let piece = rest.prefix(room)
                chunk.append(piece)
                rest = rest.dropFirst(piece.count)
                if room == 0 { handOver() }
            }
            return isAll
        }

        /// What the chunk still takes: each ends at a multiple of its size in the file.
        private var room: Int { Chunk.standardSize - Int(position % Int64(Chunk.standardSize)) - chunk.count }

        /// Of which nothing is there; nil where something is.
        var untouched: Range<Int64>? { chunk.count == 0 ? position..<max(position, end) : nil }

        /// Ends the body sooner than the answer.
        mutating func cut(at end: Int64) {
            if end < self.end { (self.end, isCut) = (end, true) }
        }

        /// Whether all has come up to where the body was cut.
        var isCutOff: Bool { isCut && position + Int64(chunk.count) >= end }

        /// Hands over what has been gathered, however little.
        mutating func handOver() {
            guard chunk.count > 0 else { return }
            file.write(chunk, at: position)
            position += Int64(chunk.count)
            chunk = Chunk()
        }
    }
}
