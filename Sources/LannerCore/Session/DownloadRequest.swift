import Foundation
import LannerMachine

/// What is to be downloaded, and how: for ``SessionManager/download(_:onMainQueue:handler:)`` and
/// ``SessionManager/multiDownload(requests:onMainQueue:handler:)``. All but the URL may be left out.
public struct DownloadRequest: Sendable {
    /// What to download, http or https. A user name and password in it are sent as Basic authentication, to its origin
    /// only, unless ``headers`` have an `Authorization`.
    public var url: any URLConvertible
    /// Header fields for the server the URL names; a task that is there keeps its own when nil. See
    /// ``SessionManager/download(_:headers:fileName:checksum:onMainQueue:handler:)``.
    public var headers: [String: String]?
    /// The name of the finished file; when nil or empty, one by ``SessionConfiguration/fileNaming``, or, for a task that
    /// is there, that which it has. Ignored where there is a ``destination``.
    public var fileName: String?
    /// What the file has to be; nothing when nil, or, for a task that is there, what it was given before.
    public var checksum: Checksum.Digest?
    /// What the pieces of the file have to be, besides or instead of ``checksum``. Each is compared as soon as it is there;
    /// one that is wrong is told as ``RestartReason/wrongPiece`` and fetched again
    /// (``RetryPolicy/maximumPieceRetries``), the others stay. Where a server sends the file only as a whole, that is
    /// fetched again. A file of a size that cannot consist of them is refused as soon as the server tells the size.
    /// They are remembered; a task that is there keeps its own when nil. Given for a task that runs, they count at
    /// once: it stops and goes on. One that has succeeded is compared with them as with another ``checksum``.
    public var pieces: Checksum.Pieces?

    /// Other places that have the same file, http or https, in the order in which they are tried; none when nil, or, for a
    /// task that is there, those it has. Others count from its next attempt on. At most 62 are used.
    ///
    /// A mirror is asked when the URL, or the mirror before, has failed, and, where several connections are worth it
    /// (``SessionConfiguration/maxConnectionsPerDownload``), for parts of the file beside it, the faster the more. What is
    /// there already only goes on from another place where that tells the same strong entity tag and the same size
    /// (RFC 9110, 8.8.3), or where a ``checksum`` decides at the end. A mirror that has another file is not asked again,
    /// unless that in hand has the wrong checksum, or is not to be had any more: then the download begins anew there; what
    /// is held of one that is not to be had stays until the mirror answers. Of ``headers`` a mirror gets those that would go
    /// along with a redirect to it. Transports whose exchanges outlive the process use none.
    public var mirrors: [any URLConvertible]?

    /// What the task is known by, one task a key in each context; the text of the URL when nil.
    ///
    /// With keys of their own two tasks may have one URL. They have one name, too, which comes from the URL, unless each is
    /// given its own ``fileName`` or ``destination``: the file of the one that ends last replaces the other's
    /// (``FileConflictPolicy``). A key that is asked for again is the same task, updated; with
    /// another URL it goes there from the next attempt on, and a task that has succeeded keeps its file. The bytes of
    /// the old URL are kept only where a checksum decides in the end, for nothing else tells whether both lead to one
    /// file; else the file begins anew, told as ``RestartReason/otherURL``. A task that runs goes on with the old URL, and
    /// succeeds with its file unless that fails: where the new one leads to another file, remove the task first. Header
    /// fields for the old URL do not go to another origin.
    public var key: String?
    /// The list whose limit the task keeps (``SessionConfiguration/listLimits``); none when nil, or, for a task that is
    /// there, that which it has.
    public var list: String?
    /// See ``DownloadTask/priority``; normal when nil, or, for a task that is there, that which it has.
    public var priority: DownloadPriority?
    /// See ``DownloadTask/maximumBytesPerSecond``; none when nil, or, for a task that is there, that which it has.
    public var maximumBytesPerSecond: Int64?
    /// The context the task belongs to; when nil, the manager's present one, whatever that is. See
    /// ``SessionManager/context``.
    public var context: String?
    /// The path of the finished file: relative to the cache's ``Cache/downloadFilePath``, or absolute and inside that or
    /// one of the cache's ``Cache/allowedDirectories``; ``fileName`` when nil, or, for a task that is there, where it goes.
    /// Directories on the way are made; one that is a symbolic link is not followed, and the task fails with
    /// ``DiskFault/notPermitted``.
    ///
    /// Another absolute path is ``LannerError/destinationNotAllowed(_:)``; so is one in the cache's
    /// ``Cache/downloadPath`` or ``Cache/downloadTmpPath`` that is in no allowed directory inside these. What is no
    /// path of a file is ``LannerError/invalidDestination(_:)``. The destination of another task that has yet to
    /// succeed is ``LannerError/destinationTaken(_:)`` where this one would replace its file.
    public var destination: String?
    /// What happens when the place of the finished file is taken; when nil,
    /// ``SessionConfiguration/fileConflictPolicy``, or, for a task that is there, what it was given before.
    public var conflictPolicy: FileConflictPolicy?
    /// See ``DownloadTask/metadata``; a task that is there keeps its own when nil.
    public var metadata: [String: String]?
    /// Whether the task is started; ``SessionConfiguration/startsImmediately`` when nil. One that is only added is
    /// suspended, until it is started or ``SessionManager/startWaiting(list:onMainQueue:handler:)`` finds it.
    public var startsImmediately: Bool?
    /// Whether a task that is there, and neither runs nor has succeeded, has no ``checksum`` any more where there is none
    /// here; its ``pieces`` stay.
    public var dropsChecksum = false

    /// Makes a request.
    public init(
        _ url: any URLConvertible, headers: [String: String]? = nil, fileName: String? = nil,
        checksum: Checksum.Digest? = nil, pieces: Checksum.Pieces? = nil, mirrors: [any URLConvertible]? = nil,
        key: String? = nil, list: String? = nil, priority: DownloadPriority? = nil,
        maximumBytesPerSecond: Int64? = nil, context: String? = nil, destination: String? = nil,
        conflictPolicy: FileConflictPolicy? = nil, metadata: [String: String]? = nil, startsImmediately: Bool? = nil
    ) {
        (self.url, self.headers, self.fileName) = (url, headers, fileName)
        (self.checksum, self.pieces, self.mirrors) = (checksum, pieces, mirrors)
        (self.key, self.list, self.priority, self.context) = (key, list, priority, context)
        (self.maximumBytesPerSecond, self.destination) = (maximumBytesPerSecond, destination)
        (self.conflictPolicy, self.metadata) = (conflictPolicy, metadata)
        self.startsImmediately = startsImmediately
    }
}

/// A request that was looked over.
struct CheckedRequest {
    var url: URL
    var host: HostID
    var fields: HeaderFields
    /// Whether a task that is there takes the fields over, be there none.
    var hasFields: Bool
    var fileName: String?
    var checksum: Checksum.Digest?
    var dropsChecksum: Bool
    var pieces: Checksum.Pieces?
    var mirrors: [URL]?
    var key: String
    var list: String?
    var priority: DownloadPriority?
    var maximumBytesPerSecond: Int64?
    var context: String?
    var destination: FilePlace?
    var conflictPolicy: FileConflictPolicy?
    var metadata: [String: String]?
    var starts: Bool

    init(_ request: DownloadRequest, _ cache: Cache, starts: Bool) throws {
        // As it is remembered: one that is relative to another would not be known again.
        url = try request.url.asURL().absoluteURL
        (fields, hasFields) = (HeaderFields(of: request.headers ?? [:]), request.headers != nil)
        fileName = request.destination != nil || request.fileName?.isEmpty == true ? nil : request.fileName
        (checksum, dropsChecksum, pieces) = (request.checksum, request.dropsChecksum, request.pieces)
        mirrors = try request.mirrors?.prefix(Mirrors.most).map { try $0.asURL().absoluteURL }
        key = request.key ?? url.absoluteString
        (list, priority, context) = (request.list, request.priority, request.context)
        maximumBytesPerSecond = request.maximumBytesPerSecond.map { max(1, $0) }
        conflictPolicy = request.conflictPolicy
        metadata = request.metadata
        self.starts = request.startsImmediately ?? starts
        if let fileName, !FileName.isName(fileName) { throw LannerError.invalidFileName(fileName) }
        destination = try request.destination.map { path throws(LannerError) in
            try FilePlace(destination: path, in: cache)
        }
        if let place = destination ?? fileName.map({ FilePlace($0) }),
            [cache.downloadPath, cache.downloadTmpPath].contains(cache.directory(of: place)), FileName.isOwn(place.name)
        {
            throw request.destination.map { .invalidDestination($0) } ?? LannerError.invalidFileName(place.name)
        }
        guard let address = try? WebAddress(url.absoluteString) else { throw LannerError.invalidURL(url: request.url) }
        host = HostID(of: address)
        do {
            _ = try Destination(address, of: url, fields: fields)
        } catch {
            throw LannerError.failed(error)
        }
        for mirror in mirrors ?? [] where (try? Destination(url: mirror, fields: [:])) == nil {
            throw LannerError.invalidURL(url: mirror)
        }
    }

    /// What is wrong with a second one of the same key.
    var duplicate: LannerError { key == url.absoluteString ? .duplicateURL(url: url) : .duplicateKey(key) }

    /// The place that is asked for of a task that has another; nil when none is.
    func place(instead of: FilePlace) -> FilePlace? {
        destination ?? fileName.map { FilePlace($0, in: of.directory) }
    }
}
