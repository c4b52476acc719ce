/// Checksums of files: the algorithms, their digests, and the protocol of a hasher.
public enum Checksum {
    /// Computes a digest from bytes that are handed over in order.
    ///
    /// The digest depends on the bytes alone, not on how they were cut into calls. A hasher may be an object: the library
    /// never goes on with one of which it has made a copy.
    public protocol Hasher: Sendable {
        /// Takes the next bytes; an empty buffer changes nothing.
        mutating func update(_ bytes: UnsafeRawBufferPointer)
        /// The digest of all bytes so far, most significant byte first. The hasher is unchanged: more bytes may follow.
        func digest() -> [UInt8]
    }

    /// Makes a hasher of an algorithm that has taken no bytes.
    ///
    /// Called on any thread, several at once, for every file and every piece that is compared with a digest. Each hasher
    /// is used by one thread at a time, and others meanwhile: they share nothing. A digest of another length than the
    /// algorithm's is no file's.
    public typealias HasherProvider = @Sendable (Algorithm) -> any Checksum.Hasher
}
