/// What a transport that goes on by its own means has left of an exchange that broke off. Kept with the record.
package struct ResumeData: Sendable, Hashable {
    /// Opaque to all but the transport.
    package var bytes: [UInt8]
    /// How much of the file they stand for.
    package var held: Int64

    package init(_ bytes: [UInt8], held: Int64) {
        self.bytes = bytes
        self.held = held
    }
}
