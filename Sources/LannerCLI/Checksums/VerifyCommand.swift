import Lanner

/// `lanner verify`: compares a file with a digest.
enum VerifyCommand {
    static func run(_ options: VerifyOptions) -> ExitCode {
        let expected = options.digest
        do {
            let actual = try InputBytes.digest(of: options.file, expected.algorithm)
            guard actual == expected else {
                Console.error(
                    "\(options.file): its \(expected.algorithm.rawValue) is \(actual.hexadecimal), not the expected "
                        + "\(expected.hexadecimal); check the checksum, or download the file again")
                return .mismatch
            }
            return Console.output("\(options.file.printable): OK") == nil ? .success : .failure
        } catch {
            Console.error("\(error)".withoutFullStop)
            return .disk
        }
    }
}
