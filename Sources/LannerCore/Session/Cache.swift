import Foundation
import LannerMachine

/// The directories of a ``SessionManager``, and how files in them are named.
public final class Cache: Sendable {
    /// The name that tells the default directories of several caches apart.
    public let identifier: String
    /// Where the records are kept.
    public let downloadPath: String
    /// Where unfinished files are kept. Several managers may share it.
    public let downloadTmpPath: String
    /// Where finished files are kept. Give each manager one of its own, or names that no other one gives: a file is found, and
    /// removed with its task, by its name, whoever has put it there last.
    public let downloadFilePath: String
    /// Where finished files may be put besides, by ``DownloadRequest/destination``.
    public let allowedDirectories: [String]

    /// Where the directories are.
    let disk: any FileSystem
    /// Where they are cleared, and where handlers are called that asked for the main queue.
    let lane: any Lane
    let mainLane: any Lane

    /// The file in `downloadPath` whose lock a manager has while it lives. A ``FileStore`` has another one, so that they
    /// get along in one directory.
    package static let lockName = "manager.lock"
    var lockPath: String { downloadPath + "/" + Self.lockName }

    /// Names the directories; they are made when they are first needed. Slashes at the end of a path, and more than one in
    /// a row, are left out.
    ///
    /// By default they lie under the user's cache directory, one set for each identifier, the other two inside
    /// `downloadPath`. All programs of a user that give the same identifier have the same ones, unless they are in sandboxes:
    /// take one in reverse-DNS style, such as "com.example.podcasts", or give a `downloadPath`. Finished files have the names
    /// of ``SessionConfiguration/fileNaming``, which are digests of URLs by default. For them to appear in one step,
    /// `downloadTmpPath` and `downloadFilePath` should be on one file system.
    ///
    /// Systems may empty the user's cache directory when space is short, finished files and records included: give a
    /// `downloadFilePath` (and `downloadPath`) elsewhere for what has to stay. On Apple platforms what is elsewhere is in
    /// backups, unless you exclude it (`isExcludedFromBackup`): do that of a `downloadTmpPath`.
    ///
    /// On iOS, tvOS, watchOS and visionOS directories are made such that their files can be read and written while the
    /// device is locked, once it was unlocked; those that are there keep their class of protection, and so do files: give
    /// a better class to finished ones that need it.
    ///
    /// `allowedDirectories` are absolute paths of directories in which, and below which, tasks may have their files;
    /// they may lead through symbolic links themselves. What is not absolute, as an empty path, allows nothing. Files on
    /// record in the container that an app on iOS had before an update are looked for in the present one.
    ///
    /// Paths that are not absolute are below the directory that the process works in now, whatever that is later; but
    /// allowed directories have to be absolute.
    ///
    /// A manager has a file in `downloadPath` locked while it lives. iOS ends an app that is suspended while it has a lock
    /// in the container of an app group: there, only `downloadFilePath` and allowed directories should be.
    public convenience init(
        _ identifier: String, downloadPath: String? = nil, downloadTmpPath: String? = nil,
        downloadFilePath: String? = nil, allowedDirectories: [String] = []
    ) {
        self.init(
            identifier, downloadPath: downloadPath?.absolute, downloadTmpPath: downloadTmpPath?.absolute,
            downloadFilePath: downloadFilePath?.absolute, allowedDirectories: allowedDirectories, on: PosixFileSystem())
    }

    /// The same on a disk and lanes that are given.
    package init(
        _ identifier: String, downloadPath: String? = nil, downloadTmpPath: String? = nil,
        downloadFilePath: String? = nil, allowedDirectories: [String] = [], on disk: any FileSystem,
        lane: any Lane = DispatchLane(.global()), mainLane: any Lane = DispatchLane(.main)
    ) {
        (self.disk, self.lane, self.mainLane) = (disk, lane, mainLane)
        self.identifier = identifier
        let base = (downloadPath ?? Self.defaultPath(identifier)).plainPath
        self.downloadPath = base
        self.downloadTmpPath = downloadTmpPath?.plainPath ?? Self.defaultTmpPath(in: base)
        self.downloadFilePath = downloadFilePath?.plainPath ?? base + "/File"
        self.allowedDirectories = allowedDirectories.map(\.plainPath).filter(\.isAbsolutePath)
    }

    /// Where unfinished files are kept unless said otherwise.
    package static func defaultTmpPath(in downloadPath: String) -> String { downloadPath + "/Tmp" }

    private static func defaultPath(_ identifier: String) -> String {
        // Two identifiers never share a name: what stands for a slash is escaped itself.
        let escapes: [Unicode.Scalar: String] = ["%": "%25", "/": "%2F", "\0": "%00"]
        let name = identifier.unicodeScalars.map { escapes[$0] ?? plainName(of: $0) }.joined()
        let directories = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)
        let base = directories.first?.path ?? NSTemporaryDirectory()
        return base + "/Lanner/" + (["": "%", ".": "%2E", "..": "%2E%2E"][name] ?? name)
    }

    /// Macs, and with them simulators, mostly take large and small letters for the same, and letters that are written in
    /// two ways.
    private static func plainName(of scalar: Unicode.Scalar) -> String {
        #if os(macOS) || targetEnvironment(macCatalyst) || targetEnvironment(simulator)
        let isPlain = scalar.isASCII && !scalar.properties.isUppercase
        return isPlain ? String(scalar) : "%" + String(scalar.value, radix: 16) + ";"
        #else
        return String(scalar)
        #endif
    }

    /// The path of a finished file; nil when it is not there.
    public func filePath(fileName: String) -> String? {
        guard FileName.isName(fileName) else { return nil }
        let path = downloadFilePath + "/" + fileName
        return (try? disk.size(of: path)) ?? nil != nil ? path : nil
    }

    /// The URL of a finished file; nil when it is not there.
    public func fileURL(fileName: String) -> URL? {
        filePath(fileName: fileName).map { URL(fileURLWithPath: $0) }
    }

    /// Whether a finished file is there.
    public func fileExists(fileName: String) -> Bool {
        filePath(fileName: fileName) != nil
    }

    /// The path of the finished file of a URL that was downloaded under the digest of its URL, as it
    /// is by ``FileNaming/urlDigest``; nil when it is not there.
    public func filePath(url: any URLConvertible) -> String? {
        guard let url = try? url.asURL() else { return nil }
        return filePath(fileName: FileName.standard(for: url))
    }

    /// The URL of the finished file of a URL that was downloaded under the digest of its URL, as it
    /// is by ``FileNaming/urlDigest``; nil when it is not there.
    public func fileURL(url: any URLConvertible) -> URL? {
        filePath(url: url).map { URL(fileURLWithPath: $0) }
    }

    /// Whether the finished file of a URL that was downloaded under the digest of its URL, as it is by
    /// ``FileNaming/urlDigest``, is there.
    public func fileExists(url: any URLConvertible) -> Bool {
        filePath(url: url) != nil
    }
}
