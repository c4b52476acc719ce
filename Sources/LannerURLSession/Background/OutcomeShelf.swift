import Foundation
import LannerCore

/// How exchanges that outlive the process have ended, on the disk, each under its name: two files, of which the one with
/// the body is there first.
struct OutcomeShelf: Sendable {
    /// How an exchange has ended.
    struct Outcome: Sendable, Equatable {
        struct Failure: Sendable, Equatable, Codable {
            var fault: String
            var message: String
            var resumeData: Data?
        }

        /// Nil when there was none.
        var head: ResponseHead?
        /// How many bytes there were.
        var received: Int64 = 0
        /// How long the file with the body was, if there is one, and it was known.
        var size: Int64?
        /// Nil when the body is complete.
        var failure: Failure?

        /// Whether the bytes of a file belong to it; of other answers nobody wants them.
        var hasFile: Bool { failure == nil && [200, 203, 206].contains(head?.status) }
    }

    let directory: URL

    /// Whether a name can be that of a file: those that the manager gives can.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 200
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == 0x2D
            }
    }

    /// Where the body of an exchange is, if there is one.
    func file(_ name: String) -> URL { directory.appendingPathComponent(name + ".body") }

    /// The same of one that has ended so, if all of it is there: the system may have deleted it, or the death of the
    /// machine taken some of it.
    func file(_ name: String, of outcome: Outcome) -> URL? {
        let file = file(name)
        guard let size = file.fileSize, size == outcome.size ?? size else { return nil }
        return file
    }

    private func note(_ name: String) -> URL { directory.appendingPathComponent(name + ".outcome") }

    /// Moves a body to where it stays, over what is there; one that was moved already, and is told again, stays.
    func keep(_ body: URL, _ name: String) throws {
        try makeDirectory()
        if rename(body.path, file(name).path) == 0 { return }
        let code = errno
        if code == ENOENT, hasFile(name) { return }
        guard code == EXDEV else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(code)) }
        try? FileManager.default.removeItem(at: file(name))
        try FileManager.default.moveItem(at: body, to: file(name))
    }

    /// Writes down how an exchange has ended. What cannot be written is forgotten with the process.
    func keep(_ outcome: Outcome, _ name: String) {
        try? makeDirectory()
        try? JSONEncoder().encode(Note(outcome)).write(to: note(name), options: Self.writing)
    }

    private func makeDirectory() throws {
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true, attributes: Self.attributes)
    }

    /// What is kept can be read while the device is locked, also where an app's files are protected better by default.
    private static var attributes: [FileAttributeKey: Any]? {
        #if canImport(Darwin) && !os(macOS)
        [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication]
        #else
        nil
        #endif
    }

    private static var writing: Data.WritingOptions {
        #if canImport(Darwin) && !os(macOS)
        [.atomic, .completeFileProtectionUntilFirstUserAuthentication]
        #else
        .atomic
        #endif
    }

    func hasFile(_ name: String) -> Bool { FileManager.default.fileExists(atPath: file(name).path) }

    func remove(_ name: String) {
        for url in [file(name), note(name)] { try? FileManager.default.removeItem(at: url) }
    }

    /// Under which names there is anything.
    func names() -> Set<String> {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        let parts = entries.map { $0.split(separator: ".", omittingEmptySubsequences: false) }
        let files = parts.filter { $0.count == 2 && ["body", "outcome"].contains($0[1]) }
        return Set(files.map { String($0[0]) }.filter(Self.isName))
    }

    /// How an exchange has ended; nil where there is no note of that, or none that makes sense. Throws where it cannot be
    /// read now, as while a device was not unlocked since it has started.
    func outcome(_ name: String) throws -> Outcome? {
        let data: Data
        do {
            data = try Data(contentsOf: note(name))
        } catch CocoaError.fileReadNoSuchFile {
            return nil
        }
        return try? JSONDecoder().decode(Note.self, from: data).outcome
    }
}

/// An outcome as it is written.
private struct Note: Codable {
    var status: Int?
    var fields: [[String]]
    /// Nil in what earlier versions have written.
    var url: String?
    var received: Int64
    /// Like the URL.
    var size: Int64?
    var failure: OutcomeShelf.Outcome.Failure?

    init(_ outcome: OutcomeShelf.Outcome) {
        status = outcome.head?.status
        fields = outcome.head?.fields.fields.map { [$0.name, $0.value] } ?? []
        url = outcome.head?.url
        (received, size) = (outcome.received, outcome.size)
        failure = outcome.failure
    }

    var outcome: OutcomeShelf.Outcome {
        let lines = fields.filter { $0.count == 2 }.map { HeaderFields.Field(name: $0[0], value: $0[1]) }
        let head = status.map { ResponseHead(status: $0, fields: HeaderFields(lines), url: url) }
        return OutcomeShelf.Outcome(head: head, received: max(0, received), size: size, failure: failure)
    }
}

extension OutcomeShelf.Outcome.Failure {
    init(_ failure: TransportFailure) {
        self.init(fault: failure.fault.rawValue, message: failure.message, resumeData: failure.resumeData)
    }

    var failure: TransportFailure {
        TransportFailure(TransportFault(rawValue: fault) ?? .other, message, resumeData: resumeData)
    }
}
