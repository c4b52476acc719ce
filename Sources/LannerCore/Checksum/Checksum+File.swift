import Foundation

extension Checksum {
    /// A file could not be read.
    public struct ReadError: Error, Hashable, Sendable {
        /// The file's path, or the name that was given for a descriptor.
        public let path: String
        /// The platform's `errno`.
        public let code: Int32
    }

    /// The digest of a file's bytes from its start to its end.
    ///
    /// Blocks while it reads. Memory use does not depend on the file's size.
    public static func digest(ofFileAt path: String, algorithm: Algorithm) throws(ReadError) -> Digest {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw ReadError(path: path, code: errno)
        }
        defer { close(descriptor) }
        return try digest(ofFileDescriptor: descriptor, name: path, algorithm: algorithm)
    }

    /// The digest of the bytes that can be read from an open file, pipe or socket, from where it stands to its end.
    ///
    /// Blocks while it reads. The descriptor stays open. `name` stands for it in errors.
    public static func digest(
        ofFileDescriptor descriptor: Int32, name: String = "standard input", algorithm: Algorithm
    ) throws(ReadError) -> Digest {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 512 << 10, alignment: 64)
        defer { buffer.deallocate() }
        var hasher = algorithm.makeHasher()
        while true {
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 {
                hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } else if count == 0 {
                return Digest(algorithm: algorithm, of: hasher)
            } else if errno != EINTR {
                throw ReadError(path: name, code: errno)
            }
        }
    }
}

extension Checksum.ReadError: LocalizedError, CustomStringConvertible {
    /// One sentence for people.
    public var description: String {
        "\(path) could not be read: \(FileError.words(for: code))."
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
