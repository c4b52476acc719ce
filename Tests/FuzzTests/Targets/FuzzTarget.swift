/// Something that reads what comes from outside, to be tried with any bytes.
struct FuzzTarget: Sendable {
    /// Also the name of its folder in `Fixtures/Fuzz`.
    let name: String
    /// Has the bytes read, and looks whether what was promised holds; throws a ``BrokenPromise`` when it does not.
    let attempt: @Sendable ([UInt8]) throws -> Void

    init(_ name: String, _ attempt: @escaping @Sendable ([UInt8]) throws -> Void) {
        self.name = name
        self.attempt = attempt
    }

    static let all: [FuzzTarget] = [
        .journal, .frames, .damage, .record, .relaunch,
        .contentRange, .contentLength, .entityTag, .contentDisposition, .httpDate, .retryAfter, .digestField, .judge,
        .location, .redirect, .fileName, .inputFile, .arguments, .digest, .hash, .request, .head,
    ]
}

/// What was found.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
}

/// Throws when a promise does not hold.
func promise(_ holds: Bool, _ words: @autoclosure () -> String) throws {
    if !holds { throw BrokenPromise(description: words()) }
}
