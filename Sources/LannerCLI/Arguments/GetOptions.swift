import Foundation
import Lanner

/// What `lanner get` was asked for.
struct GetOptions: Sendable, Equatable {
    var urls: [String] = []
    /// `-o`
    var output: String?
    /// `-d`
    var directory: String?
    /// `-i`; `-` for standard input.
    var inputFile: String?
    /// `--checksum`
    var checksum: Checksum.Digest?
    /// `--mirror`: other places of the one file.
    var mirrors: [String] = []
    /// `-j`
    var jobs = 4
    /// `-x`, `--connections`: for one file.
    var connections = 4
    /// `--header`
    var headers = HeaderFields()
    /// `--header @FILE`: files with a field a line, which are yet to be read.
    var headerFiles: [String] = []
    /// `--retries`: in a row, without more bytes than ever before.
    var retries = 5
    /// `--timeout`, in seconds.
    var timeout = 60
    /// `--limit-rate`, in bytes a second, of all downloads together; nil for no limit.
    var rateLimit: Int64?
    /// `--priority`
    var priority: DownloadPriority?
    /// Whether digests count that servers give; not with `--no-server-digests`.
    var checksServerDigests = true
    /// `--transport`
    var transport = TransportChoice.auto
    /// `--ca-certificate`: a file with the authorities that are trusted, in the place of the system's.
    var authorities: String?
    /// `--adopt`: whether a state that was not made here is trusted.
    var adopts = false
    /// `--json`
    var isJSON = false
    /// `-q`
    var isQuiet = false
}

extension GetOptions {
    /// Reads the words behind the command's name; nil when they ask for help.
    init?(_ reader: inout ArgumentReader) throws(UsageError) {
        while let word = try reader.next() {
            switch word {
            case .operand(let url): urls.append(url)
            case .option("--help"), .option("-h"): return nil
            case .option(let name): try take(name, &reader)
            }
        }
        try check()
    }

    private mutating func take(_ name: String, _ reader: inout ArgumentReader) throws(UsageError) {
        switch name {
        case "-o": output = try reader.value("a FILE")
        case "-d": directory = try reader.value("a DIR")
        case "-i": inputFile = try reader.value("a FILE, or - for standard input")
        case "--checksum": checksum = try .argument(reader.value("ALGO:HEX"), of: name)
        case "--mirror": mirrors.append(try reader.repeatedValue("a URL"))
        case "-j": jobs = try reader.number("a number", in: 1...256)
        case "-x", "--connections": connections = try reader.number("a number", in: 1...16, of: "-x")
        case "--header": try takeHeader(reader.repeatedValue("'NAME: VALUE' or @FILE"))
        case "--retries": retries = try reader.number("a number", in: 0...1_000_000)
        case "--timeout": timeout = try reader.number("a number of seconds", in: 1...86_400)
        case "--limit-rate": rateLimit = try .rate(reader.value("BYTES[k|m|g]"))
        case "--priority": priority = try .argument(reader.value("a priority, such as high"))
        case "--no-server-digests": checksServerDigests = false
        case "--transport": transport = try .argument(reader.value("auto, curl or urlsession"))
        case "--ca-certificate": authorities = try reader.value("a FILE")
        case "--adopt": adopts = true
        case "--json": isJSON = true
        case "-q": isQuiet = true
        case _: throw .unknown(option: name, see: .get)
        }
    }

    private mutating func takeHeader(_ text: String) throws(UsageError) {
        guard text.utf8.first == UInt8(ascii: "@") else { return try addHeader(text) }
        guard text != "@" else { throw UsageError("--header @FILE needs the name of a file") }
        headerFiles.append(String(text.dropFirst()))
    }

    /// Adds the fields of a file, one a line, but for blank lines and comments.
    mutating func addHeaders(_ text: String, file: String) throws(UsageError) {
        for (index, line) in InputFile.lines(text).enumerated() {
            if line.utf8.allSatisfy(FieldText.isSpace) || line.utf8.first == UInt8(ascii: "#") { continue }
            do throws(UsageError) {
                try addHeader(line)
            } catch {
                throw UsageError("\(file):\(index + 1): \(error.message)")
            }
        }
    }

    private mutating func addHeader(_ text: String) throws(UsageError) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            // What follows the first word may be a secret, as that alone may be.
            let name = text.firstIndex(of: " ").map { " " + String(text[..<$0]).quoted } ?? ""
            throw UsageError("the header field\(name) has no colon; write 'NAME: VALUE'")
        }
        let name = String(text[..<colon])
        let value = text[text.utf8.index(after: colon)...].trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
        guard headers[name] == nil else { throw UsageError("the header field \(name.quoted) is given twice") }
        headers.append(name, value)
        do {
            try RequestCheck.check(headers)
        } catch {
            throw UsageError(error.detail.withoutFullStop)
        }
    }

    private func check() throws(UsageError) {
        if (headerFiles + [inputFile ?? ""]).count(where: { $0 == "-" }) > 1 {
            throw UsageError("standard input can be read once; give one of the lists as a file")
        }
        if urls.isEmpty, inputFile == nil { throw UsageError("a URL is missing; see lanner get --help") }
        if authorities != nil, transport == .urlsession {
            throw UsageError("--ca-certificate is of the transport curl; URLSession trusts the system's")
        }
        let isSingle = urls.count == 1 && inputFile == nil
        if output != nil, !isSingle {
            throw UsageError("-o names one file; give exactly one URL with it, or a list by -i with out=NAME lines")
        }
        if !mirrors.isEmpty, !isSingle {
            throw UsageError(
                "--mirror is of one file; give exactly one URL with it, or a list by -i with mirror=URL lines")
        }
        if checksum != nil, !isSingle {
            throw UsageError(
                "--checksum is of one file; give exactly one URL with it, or a list by -i with checksum=ALGO:HEX lines")
        }
    }
}

extension Checksum.Digest {
    /// Reads "ALGO:HEX" as a user wrote it; `place` is where it stands.
    static func argument(_ text: String, of place: String) throws(UsageError) -> Checksum.Digest {
        do throws(Checksum.ParseError) {
            return try Checksum.Digest(parsing: text)
        } catch {
            throw UsageError("\(place) needs ALGO:HEX; \(error.words)")
        }
    }
}

extension Checksum.ParseError {
    fileprivate var words: String {
        switch self {
        case .missingAlgorithm(let text): "\(text.quoted) names none of \(HashOptions.names)"
        case .unknownAlgorithm(let name): "there is no algorithm \(name.quoted); there are \(HashOptions.names)"
        case .wrongLength(let algorithm, let digits):
            "the HEX of \(algorithm.rawValue) has \(2 * algorithm.digestLength) digits, this one \(digits)"
        case .badCharacter(let character): "\(String(character).quoted) is no hexadecimal digit"
        }
    }
}
