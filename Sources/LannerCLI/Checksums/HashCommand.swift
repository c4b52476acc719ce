import Lanner

/// `lanner hash`: prints the digests of files as sha256sum does.
enum HashCommand {
    static func run(_ options: HashOptions) -> ExitCode {
        var result = ExitCode.success
        for file in options.files {
            do {
                let digest = try InputBytes.digest(of: file, options.algorithm)
                guard Console.output(line(digest, file)) == nil else { return .failure }
            } catch {
                Console.error("\(error)".withoutFullStop)
                result = .failure
            }
        }
        return result
    }

    /// A line of output. A name that holds a backslash or a line break is escaped, and the line then begins with a
    /// backslash, so that `sha256sum --check` reads it back.
    static func line(_ digest: Checksum.Digest, _ name: String) -> String {
        let escapes: [Unicode.Scalar: String] = ["\\": "\\\\", "\n": "\\n", "\r": "\\r"]
        let escaped = name.unicodeScalars.map { escapes[$0] ?? String($0) }.joined()
        return "\(escaped == name ? "" : "\\")\(digest.hexadecimal)  \(escaped)"
    }
}

/// Files as the commands name them.
enum InputBytes {
    /// The digest of a file; of standard input for `-`.
    static func digest(
        of file: String, _ algorithm: Checksum.Algorithm
    ) throws(Checksum.ReadError) -> Checksum.Digest {
        file == "-"
            ? try Checksum.digest(ofFileDescriptor: 0, algorithm: algorithm)
            : try Checksum.digest(ofFileAt: file, algorithm: algorithm)
    }
}
