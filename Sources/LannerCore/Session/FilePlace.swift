import Foundation

/// Where a finished file goes: a name in the cache's directory of finished files, or in one that the caller chose.
///
/// A file has one place, however its path was given.
struct FilePlace: Sendable, CustomStringConvertible {
    /// Nil for the cache's own; relative to that one when it is below it; else absolute, in one that the cache allows.
    var directory: String?
    var name: String

    init(_ name: String, in directory: String? = nil) {
        self.name = name
        self.directory = directory
    }

    var description: String { directory.map(path(in:)) ?? name }

    fileprivate func path(in directory: String) -> String { directory == "/" ? "/" + name : directory + "/" + name }

    /// Reads a path that a caller chose.
    ///
    /// - Throws: ``LannerError/invalidDestination(_:)``, ``LannerError/destinationNotAllowed(_:)``
    init(destination: String, in cache: Cache) throws(LannerError) {
        guard Self.isPath(destination) else { throw .invalidDestination(destination) }
        if destination.isAbsolutePath, cache.base(ofFile: destination) == nil {
            throw .destinationNotAllowed(destination)
        }
        self.init(path: destination, in: cache)
    }

    /// Reads a place that was recorded when the cache may have had other directories.
    init(_ recorded: FilePlace, in cache: Cache) {
        self.init(path: cache.presentPath(of: recorded.description), in: cache)
    }

    private init(path: String, in cache: Cache) {
        let path = path.isAbsolutePath ? path.path(below: cache.downloadFilePath) ?? path : path
        name = path.lastComponent
        directory = path == name ? nil : path.directory
    }

    /// Whether a text, which may come from a spoiled record, is a path of names, none of which leads back.
    static func isPath(_ text: String) -> Bool {
        text.components.dropFirst(text.isAbsolutePath ? 1 : 0).allSatisfy(FileName.isName)
    }

    /// The same for a directory, which may be that of the whole system.
    static func isDirectory(_ text: String) -> Bool { text == "/" || isPath(text) }
}

extension FilePlace: Hashable {
    static func == (one: FilePlace, other: FilePlace) -> Bool {
        PathKey(ofFile: one.name) == PathKey(ofFile: other.name)
            && one.directory.map(PathKey.init(ofFile:)) == other.directory.map(PathKey.init(ofFile:))
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(PathKey(ofFile: name))
        hasher.combine(directory.map(PathKey.init(ofFile:)))
    }
}

extension Cache {
    /// The path of the file in a place.
    func path(of place: FilePlace) -> String { place.path(in: directory(of: place)) }

    /// The path of a partial file.
    func path(of partial: PartialName) -> String { downloadTmpPath + "/" + partial.text }

    /// The directory of a place.
    func directory(of place: FilePlace) -> String {
        guard let directory = place.directory else { return downloadFilePath }
        return directory.isAbsolutePath ? directory : downloadFilePath + "/" + directory
    }

    /// The directory that a file is in or below, of those in which files may be put; nil when there is none.
    ///
    /// Of several the innermost decides: records and unfinished files stay out of reach, though a directory around them
    /// be allowed.
    func base(ofFile path: String) -> String? {
        let open = [downloadFilePath] + allowedDirectories
        let around = (open + [downloadPath, downloadTmpPath]).filter { path.path(below: $0) != nil }
        let innermost = around.map(\.utf8.count).max()
        return open.first { $0.utf8.count == innermost && path.path(below: $0) != nil }
    }

    /// Where a recorded path leads now. The container of an app on iOS has another name after an update; what was in a
    /// directory of it that is allowed now is meant to be there.
    fileprivate func presentPath(of recorded: String) -> String {
        guard recorded.isAbsolutePath, base(ofFile: recorded) == nil else { return recorded }
        let paths = allowedDirectories.lazy.compactMap { recorded.path(inContainerOf: $0) }
        return paths.first { base(ofFile: $0) != nil } ?? recorded
    }
}

extension String {
    /// The same path in the container that another path is in, when both begin as those of containers do:
    /// `…/Containers/Data/Application/UUID/…`, `…/Containers/Data/PluginKitPlugin/UUID/…` of an extension, or
    /// `…/Containers/Shared/AppGroup/UUID/…`.
    fileprivate func path(inContainerOf other: String) -> String? {
        var own = components
        let others = other.components
        guard let index = own.containerIndex, index == others.containerIndex, own[..<index] == others[..<index] else {
            return nil
        }
        own[index] = others[index]
        return own.joined(separator: "/")
    }
}

extension [String] {
    private static let containers = [
        ["Containers", "Data", "Application"], ["Containers", "Data", "PluginKitPlugin"],
        ["Containers", "Shared", "AppGroup"],
    ]

    /// Where the name of a container is among the components of a path.
    fileprivate var containerIndex: Int? {
        indices.dropFirst(3).first { index in
            Self.containers.contains(Array(self[(index - 3)..<index])) && UUID(uuidString: self[index]) != nil
        }
    }
}
