import Foundation
import Lanner

@testable import LannerCLI
@testable import LannerCore

/// What a user of the program writes.
extension FuzzTarget {
    /// The list that `-i` reads.
    static let inputFile = FuzzTarget("input-file") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let entries = try read({ () throws(UsageError) in try InputFile.parse(text, file: "list") }) else {
            return
        }
        let again = try? InputFile.parse(entries.map(Self.text).joined(), file: "list")
        let isSame = again?.elementsEqual(entries) { $0.isSame(as: $1) } ?? false
        try promise(isSame, "\(entries) is read otherwise when it is written again")
        guard let plan = try read({ () throws(UsageError) in try GetPlan(GetOptions(), entries) }) else { return }
        try promise(plan.items.count == entries.count, "there are more or fewer downloads than entries")
        for item in plan.items {
            try promise(item.path == item.name && (try? TargetName.argument(item.name)) == item.name, item.path)
            try promise((try? WebAddress(item.shownURL))?.userInfo == nil, "\(item.shownURL) shows user info")
        }
    }

    private static func text(_ entry: InputFile.Entry) -> String {
        "\n" + entry.url + (entry.name.map { "\n out=\($0)" } ?? "")
            + (entry.checksum.map { "\n checksum=\($0)" } ?? "")
    }

    /// The words of a command line, one a line.
    static let arguments = FuzzTarget("arguments") { bytes in
        var feed = Feed(bytes)
        let words = feed.lines()
        guard let command = try read({ () throws(UsageError) in try Command(words) }) else { return }
        try promise((try? Command(words)) == command, "the same words mean something else")
        switch command {
        case .get(let options): try check(options)
        case .verify(let options):
            let again = try? Command(["verify", "--", "\(options.digest)", options.file])
            try promise(again == command, "\(options) is read otherwise when it is written again")
        case .hash(let options):
            let again = try? Command(["hash", "--algorithm=\(options.algorithm)", "--"] + options.files)
            try promise(again == command, "\(options) is read otherwise when it is written again")
        case .demo, .help, .version: break
        }
    }

    private static func check(_ options: GetOptions) throws {
        var words = ["get", "-j\(options.jobs)", "--retries=\(options.retries)", "--timeout=\(options.timeout)"]
        words += ["-x\(options.connections)", "--transport=\(options.transport.rawValue)"]
        words += options.mirrors.map { "--mirror=\($0)" }
        words += options.headers.fields.map { "--header=\($0.name):\($0.value)" }
        if let rate = options.rateLimit { words.append("--limit-rate=\(rate)") }
        if let file = options.authorities { words += ["--ca-certificate", file] }
        if let priority = options.priority { words.append("--priority=\(priority.word)") }
        if let checksum = options.checksum { words.append("--checksum=\(checksum)") }
        for (name, value) in [("-o", options.output), ("-d", options.directory), ("-i", options.inputFile)] {
            if let value { words += [name, value] }
        }
        if !options.checksServerDigests { words.append("--no-server-digests") }
        words += (options.isJSON ? ["--json"] : []) + (options.isQuiet ? ["-q"] : []) + ["--"] + options.urls
        try promise((try? Command(words)) == .get(options), "\(options) is read otherwise when it is written again")
        guard let plan = try read({ () throws(UsageError) in try GetPlan(options) }) else { return }
        for item in plan.items {
            // By bytes: a mark at the beginning of a name makes one character with the slash.
            try promise(item.path.utf8.suffix(item.name.utf8.count).elementsEqual(item.name.utf8), item.path)
            try promise((try? TargetName.argument(item.name)) == item.name, item.name)
        }
    }

    /// The result, or nil for an error whose lines can be shown.
    private static func read<Result>(_ body: () throws(UsageError) -> Result) throws -> Result? {
        do throws(UsageError) {
            return try body()
        } catch {
            for line in error.lines { try promise(line.printable == line, "“\(line)” is not fit to be shown") }
            return nil
        }
    }
}

extension InputFile.Entry {
    /// Whether they say the same, wherever they stand.
    fileprivate func isSame(as other: Self) -> Bool {
        Array(url.utf8) == Array(other.url.utf8) && name == other.name && checksum == other.checksum
    }
}
