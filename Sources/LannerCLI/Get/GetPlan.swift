import Foundation
import Lanner

/// What a call of `lanner get` will do: where to, and which files.
struct GetPlan: Sendable, Equatable {
    /// One file to download.
    struct Item: Sendable, Equatable {
        var url: URL
        /// The URL as it was given, without user name and password.
        var shownURL: String
        var name: String
        /// Where the file will be.
        var path: String
        var checksum: Checksum.Digest?
        /// Other places of the same file.
        var mirrors: [URL] = []
        /// Its own, where a list gives it one.
        var priority: DownloadPriority?
    }

    var directory = "."
    var items: [Item] = []

    /// Looks everything over before anything is done.
    init(_ options: GetOptions, _ list: [InputFile.Entry] = []) throws(UsageError) {
        if options.directory == "" { throw UsageError("-d needs the name of a directory") }
        directory = options.directory ?? "."
        if let output = options.output { directory = try Self.split(output, in: options.directory).directory }
        let mirrors = try options.mirrors.map { mirror throws(UsageError) in try Self.mirror(mirror) }
        for url in options.urls {
            let name = try options.output.map { output throws(UsageError) in try Self.split(output, in: nil).name }
            try add(url, name, options.checksum, mirrors, options.headers)
        }
        items.reserveCapacity(items.count + list.count)
        var problems = ListProblems()
        for entry in list {
            do throws(UsageError) {
                try add(entry.url, entry.name, entry.checksum, entry.mirrors, options.headers, entry.priority)
            } catch {
                problems.note(error.message, at: entry.place)
            }
        }
        try problems.check()
        if items.isEmpty { throw UsageError("there is no URL in the list") }
        try checkTwins(list)
    }

    private mutating func add(
        _ text: String, _ name: String?, _ checksum: Checksum.Digest?, _ mirrors: [URL], _ headers: HeaderFields,
        _ priority: DownloadPriority? = nil
    ) throws(UsageError) {
        let (url, address) = try Self.url(text)
        let shown = address.text
        guard mirrors.count <= Mirrors.most else {
            throw UsageError("\(shown) has \(mirrors.count) mirrors; give \(Mirrors.most) at most")
        }
        // The header fields are those of the first, and a URL that is sent as it stands cannot be refused.
        if items.isEmpty || shown != url.absoluteString { try Self.check(address, url, headers) }
        let name = name ?? TargetName.suggested(by: url)
        let path = TargetName.path(name, in: directory)
        items.append(
            Item(
                url: url, shownURL: shown, name: name, path: path, checksum: checksum, mirrors: mirrors,
                priority: priority))
    }

    /// Reads the URL of another place, and looks for what the library would refuse.
    static func mirror(_ text: String) throws(UsageError) -> URL {
        let (url, address) = try url(text)
        try check(address, url, [:])
        return url
    }

    /// Looks for what the library would refuse: user info that cannot be sent, for example.
    private static func check(_ address: WebAddress, _ url: URL, _ headers: HeaderFields) throws(UsageError) {
        do throws(DownloadFailure) {
            _ = try Destination(address, of: url, fields: headers)
        } catch {
            throw UsageError("\(address.text): \(error.detail.withoutFullStop)")
        }
    }

    private static func url(_ text: String) throws(UsageError) -> (URL, WebAddress) {
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw UsageError(
                "the URL \(Destination.redacted(text).quoted) has a control character in it; check the ends of lines")
        }
        guard let url = URL(string: WebAddress.escaped(text)) else {
            throw UsageError("\(Destination.redacted(text).quoted) is no URL; write one as https://example.com/file")
        }
        do throws(WebAddress.Refusal) {
            return (url, try WebAddress(url.absoluteString))
        } catch {
            throw UsageError("the URL \(Destination.redacted(text).quoted) \(error.reason)")
        }
    }

    /// Takes `-o` apart; a relative one is below `-d`.
    private static func split(
        _ output: String, in base: String?
    ) throws(UsageError) -> (directory: String, name: String) {
        guard !output.isEmpty else { throw UsageError("-o needs the name of a file") }
        guard output != "-" else { throw UsageError("-o needs the name of a file; standard output cannot be resumed") }
        guard !output.hasSuffix("/") else {
            throw UsageError("-o needs the name of a file, and \(output.quoted) is a directory; give that with -d")
        }
        let name = try TargetName.argument(output.lastComponent)
        if output == name { return (base ?? ".", name) }
        guard let base, !output.isAbsolutePath else { return (output.directory, name) }
        return (TargetName.path(output.directory, in: base), name)
    }

    /// What cannot be saved in a directory that takes large and small letters for the same; nil when all can.
    func clashIgnoringCase() -> String? {
        var names: [String: Int] = [TargetName.stateDirectory: -1]
        for (index, item) in items.enumerated() {
            guard let other = names.updateValue(index, forKey: item.name.lowercased()) else { continue }
            let others = other < 0 ? "the state of the downloads" : items[other].shownURL
            return "\(others) and \(item.shownURL) would both be saved as \(item.name.quoted), for "
                + "\(directory.printable) takes large and small letters for the same"
        }
        return nil
    }

    /// Two downloads cannot have one name, nor one URL. The list's are the last.
    private func checkTwins(_ list: [InputFile.Entry]) throws(UsageError) {
        let given = items.count - list.count
        func place(_ index: Int) -> String { index < given ? "" : list[index - given].place }
        var problems = ListProblems()
        var names: [PathKey: Int] = [:]
        var urls: Set<String> = []
        names.reserveCapacity(items.count)
        urls.reserveCapacity(items.count)
        for (index, item) in items.enumerated() {
            let twin = names.updateValue(index, forKey: PathKey(ofFile: item.name)).map { items[$0].shownURL }
            // A URL may be spelled in several ways.
            if !urls.insert(item.url.absoluteString).inserted || twin == item.shownURL {
                problems.note("\(item.shownURL) is given twice; leave one out", at: place(index))
            } else if let twin {
                problems.note(
                    "\(twin) and \(item.shownURL) would both be saved as \(item.name.quoted); "
                        + "name one by out=NAME in a list (-i), or by -o in a call of its own", at: place(index))
            }
        }
        try problems.check()
    }
}
