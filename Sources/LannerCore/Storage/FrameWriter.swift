/// Writes frames to the end of a file, gathered into few calls.
struct FrameWriter {
    /// More at once is not written any faster.
    private static let pieceSize = 64 << 10

    private let file: any OpenFile
    private var buffer = FrameBuffer()
    /// Behind what was written.
    private(set) var end: Int64

    init(_ file: any OpenFile, at end: Int64) {
        self.file = file
        self.end = end
    }

    mutating func appendHeader(_ kind: StoreFileKind, base: UInt64) {
        buffer.appendHeader(kind, base: base)
    }

    mutating func append(
        _ changes: some Collection<StoreChange>, sequence: UInt64, followsSync: Bool = false
    ) throws(FileError) {
        buffer.appendFrame(changes, sequence: sequence, followsSync: followsSync)
        if buffer.count >= Self.pieceSize { try flush() }
    }

    /// Hands what was gathered to the kernel.
    mutating func flush() throws(FileError) {
        if buffer.count == 0 { return }
        try buffer.withBytes { bytes in
            Result { () throws(FileError) in try file.write(bytes, at: end) }
        }.get()
        end += Int64(buffer.count)
        buffer.removeAll()
    }
}
