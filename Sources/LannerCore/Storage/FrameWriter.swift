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

extension OpenFile {
    /// Reads the whole file, if memory can hold it and it is not too large for a store's.
    func readAll() throws(FileError) -> [UInt8] {
        let count = try size()
        guard count < StoreFormat.fileBound, let size = Int(exactly: count) else {
            throw FileError(fault: .tooLarge, operation: "read", path: "")
        }
        // All threads share one empty array, and the initializer would write to it.
        guard size > 0 else { return [] }
        var failure: FileError?
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            do throws(FileError) {
                count = try fill(UnsafeMutableRawBufferPointer(buffer))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(FileError) -> Int {
        var done = 0
        while done < buffer.count {
            let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]), at: Int64(done))
            if count == 0 { break }
            done += count
        }
        return done
    }
}
