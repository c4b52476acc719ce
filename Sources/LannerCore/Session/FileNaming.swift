/// How finished files are named when the caller gives no name.
///
/// A name that comes from a URL or a server is made safe: one name in the directory, on every file system. A name that
/// a caller gives is never changed; one that cannot be used is refused.
public enum FileNaming: String, Sendable, Hashable, CaseIterable {
    /// The MD5 of the URL, with the extension of its path: different for every URL.
    case urlDigest
    /// The last component of the URL's path; as ``urlDigest`` when it has none. URLs that end alike have one name: by
    /// ``FileConflictPolicy/replace``, the default, the file of the last one replaces that of the others.
    case lastPathComponent
    /// What the server says in `Content-Disposition` (RFC 6266); else the last component of the path of the URL that
    /// answered, after redirects; else as ``urlDigest``.
    ///
    /// Decided once, when the first answer that brings the file has begun: ``DownloadTask/fileName`` is that of
    /// ``lastPathComponent`` until then, and the name it will have once ``DownloadTask/response`` is there.
    case serverName
}

/// What happens when a finished file is to go where another one is: one that was there before, or that of another task.
///
/// Whatever it is, the place holds one whole file or the other at any time.
public enum FileConflictPolicy: String, Sendable, Hashable, CaseIterable {
    /// The file that is there is replaced, and its permissions are taken over; so is a symbolic link, not what it leads
    /// to. Two tasks of one name have the file of the one that ended last.
    case replace
    /// The file is given another name beside it, "name 2.ext" for "name.ext", which ``DownloadTask/fileName`` then is.
    case keepBoth
    /// The task fails with ``DownloadFailure/Reason/disk(_:)`` of ``DiskFault/inTheWay``. Its bytes are kept: started
    /// again, it only has to look whether the place is free now. A task keeps its place though somebody has taken its file
    /// away; remove it to make the place free.
    case fail
}
