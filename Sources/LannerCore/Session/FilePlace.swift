import Foundation

/// Where a finished file goes: a name in the cache's directory of finished files, or in one that the caller chose.
struct FilePlace: Sendable, Hashable, CustomStringConvertible {
    /// Nil for the cache's own; relative to that one, or absolute, in one that the cache allows.
    var directory: String?
    var name: String

    init(_ name: String, in directory: String? = nil) {
        self.name = name
        self.directory = directory
    }

    var description: String { directory.map { $0 + "/" + name } ?? name }

    /// Reads a path that a caller chose.
    ///
    /// - Throws: ``LannerError/invalidDestination(_:)``, ``LannerError/destinationNotAllowed(_:)``
    init(destination: String, in cache: Cache) throws(LannerError) {
        let isAbsolute = destination.hasPrefix("/")
        guard let parts = Self.components(isAbsolute ? String(destination.dropFirst()) : destination),
            let name = parts.last
        else { throw .invalidDestination(destination) }
        self.name = name
        directory = parts.count > 1 ? parts.dropLast().joined(separator: "/") : nil
        guard isAbsolute else { return }
        let whole = "/" + parts.joined(separator: "/")
        guard let base = cache.base(ofFile: whole) else { throw .destinationNotAllowed(destination) }
        directory = base == cache.downloadFilePath ? Self.directory(of: whole, below: base) : whole.directory
    }

    /// The names that make a relative path; nil when one of them is none, or leads back.
    private static func components(_ path: String) -> [String]? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        return parts.allSatisfy(FileName.isName) ? parts : nil
    }

    private static func directory(of file: String, below base: String) -> String? {
        let rest = String(file.dropFirst(base.count + 1))
        return rest.contains("/") ? rest.directory : nil
    }

    /// Whether a text, which may come from a spoiled record, can be the directory of a place.
    static func isDirectory(_ text: String) -> Bool {
        components(text.hasPrefix("/") ? String(text.dropFirst()) : text) != nil
    }
}

extension Cache {
    /// The path of the file in a place.
    func path(of place: FilePlace) -> String { directory(of: place) + "/" + place.name }

    /// The path of a partial file.
    func path(of partial: PartialName) -> String { downloadTmpPath + "/" + partial.text }

    /// The directory of a place.
    func directory(of place: FilePlace) -> String {
        guard let directory = place.directory else { return downloadFilePath }
        return directory.hasPrefix("/") ? directory : downloadFilePath + "/" + directory
    }

    /// The directory that a file is in or below, of those in which files may be put; nil when there is none.
    ///
    /// Of several the innermost decides: records and unfinished files stay out of reach, though a directory around them
    /// be allowed.
    func base(ofFile path: String) -> String? {
        let open = [downloadFilePath] + allowedDirectories
        let inside = (open + [downloadPath, downloadTmpPath]).filter { path.hasPrefix($0 + "/") }
        let innermost = inside.map(\.count).max()
        return open.first { $0.count == innermost && path.hasPrefix($0 + "/") }
    }
}
