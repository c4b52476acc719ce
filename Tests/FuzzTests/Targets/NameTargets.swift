import Foundation

@testable import LannerCLI
@testable import LannerCore
@testable import LannerMachine

/// What files are named after.
extension FuzzTarget {
    /// Lines that are texts and URLs.
    static let fileName = FuzzTarget("file-name") { bytes in
        var feed = Feed(bytes)
        for line in feed.lines() {
            try checkSaved(TargetName.sanitized(line))
            if let name = try? TargetName.argument(line) { try checkSaved(name) }
            if FileName.isName(line) { try checkStays(line) }
            try checkOwn(line)
            try checkSafe(FileName.safe(line))
            guard let url = URL(string: line) else { continue }
            try checkSaved(TargetName.suggested(by: url))
            try promise(FileName.isName(FileName.standard(for: url)), "\(FileName.standard(for: url))")
            try checkStays(FileName.standard(for: url))
            try checkSafe(FileName.lastComponent(of: url))
        }
    }

    /// A name that the program saves under.
    private static func checkSaved(_ name: String) throws {
        try promise(FileName.isName(name), "“\(name)” is no name")
        try checkStays(name)
        try promise((try? TargetName.argument(name)) == name, "“\(name)” is refused where a user gives it")
        try promise(TargetName.sanitized(name) == name, "“\(name)” is sanitized twice")
        try promise(name.printable == name && !name.contains("\\"), "“\(name)” is not fit to be shown")
    }

    /// A name that was made of any text.
    private static func checkSafe(_ name: String?) throws {
        guard let name else { return }
        try checkStays(name)
        try promise(FileName.safe(name).map { Array($0.utf8) } == Array(name.utf8), "“\(name)” is made safe twice")
        try promise(PartialName(name) == nil && name != StoreFileName.lock, "“\(name)” is the library's own")
        try promise(!name.unicodeScalars.contains { "/\\:*?\"<>|".unicodeScalars.contains($0) }, "“\(name)” separates")
        try promise(name.first != "." && name.last != "." && name.last != " ", "“\(name)” is hidden, or ends badly")
        for number in [2, 10_000] {
            let other = FileName.numbered(name, number)
            try checkStays(other)
            try promise(other.contains(" \(number)"), "“\(other)” lost its number")
        }
    }

    /// In a directory, a name is that of a file directly in it.
    private static func checkStays(_ name: String) throws {
        let path = TargetName.path(name, in: "/some/place")
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        try promise(parts.count == 4 && !parts[3].isEmpty && !path.utf8.contains(0), "\(path) is elsewhere")
        try promise(!parts[3].elementsEqual("..".utf8) && !parts[3].elementsEqual(".".utf8), "\(path) is a directory")
        try promise(parts[3].count <= 255, "\(parts[3].count) bytes")
    }

    /// The names that the library gives its own files.
    private static func checkOwn(_ name: String) throws {
        if let part = PartialName(name) {
            try promise(Array(part.text.utf8) == Array(name.utf8), "\(name) is \(part.text), too")
            try checkStays(name)
        }
        for kind in [StoreFileKind.snapshot, .journal] {
            guard let generation = StoreFileName.generation(of: name, kind) else { continue }
            try promise(Array(StoreFileName.name(kind, generation).utf8) == Array(name.utf8), "\(name) of another way")
        }
        if let number = StoreFileName.corruptNumber(of: name) {
            try promise(Array(StoreFileName.corrupt(number).utf8) == Array(name.utf8), "\(name) of another way")
        }
    }
}
