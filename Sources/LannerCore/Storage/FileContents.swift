import Foundation

/// The bytes of a whole file, in memory that may have been refused: that of an array may not, and a damaged or sparse file
/// may have any size.
final class FileContents {
    private let memory: UnsafeMutableRawBufferPointer

    /// Nil when there is no memory.
    fileprivate init?(size: Int, _ allocate: (Int) -> UnsafeMutableRawPointer?) {
        guard let start = allocate(max(1, size)) else { return nil }
        memory = UnsafeMutableRawBufferPointer(start: start, count: size)
    }

    deinit {
        free(memory.baseAddress)
    }

    private var count = 0

    /// Calls with the bytes.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    }

    fileprivate func fill(from file: some OpenFile) throws(FileError) {
        while count < memory.count {
            let read = try file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: memory[count...]), at: Int64(count))
            if read == 0 { break }
            count += read
        }
    }
}

extension OpenFile {
    /// Reads the whole file, which is at `path`, unless it is larger than `bound`, or `allocate` has no memory for it.
    func readAll(
        upTo bound: Int64, at path: String, allocate: (Int) -> UnsafeMutableRawPointer? = { malloc($0) }
    ) throws(FileError) -> FileContents {
        let count = try size()
        guard count <= bound, let size = Int(exactly: count), let contents = FileContents(size: size, allocate) else {
            throw FileError(fault: .tooLarge, operation: "read", path: path)
        }
        try contents.fill(from: self)
        return contents
    }
}
