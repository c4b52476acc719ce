import Foundation
import LannerMachine

/// What can go wrong, as it is thrown, logged, and kept in ``DownloadTask/error``.
public enum LannerError: Error, Sendable {
    /// There is no URL in what was given, or it is not http or https, or has no host.
    case invalidURL(url: any URLConvertible)
    /// The same URL twice in one batch; the second was skipped.
    case duplicateURL(url: any URLConvertible)
    /// A position that is not in the list of tasks.
    case indexOutOfRange
    /// The same key twice in one batch; the second was skipped.
    case duplicateKey(String)
    /// No task has this key.
    case noTask(key: String)
    /// No task has this URL as its key: one that was given another key is found by that.
    case fetchDownloadTaskFailed(url: any URLConvertible)
    /// A batch with another number of headers than of URLs; nothing was added.
    case headersMatchFailed
    /// A batch with another number of file names than of URLs; nothing was added.
    case fileNamesMatchFailed
    /// Another number of digests than of tasks; nothing was compared.
    case codesMatchFailed
    /// A file name that would not be one name inside the download directory.
    case invalidFileName(String)
    /// A destination that is not the path of a file: empty, or with a part that is empty or leads back. Or one that the
    /// library's own files may have.
    case invalidDestination(String)
    /// A destination outside the directories in which the cache lets files be.
    case destinationNotAllowed(String)
    /// A destination that another task has, which has yet to succeed, and whose file would be replaced.
    case destinationTaken(String)
    /// The download has its file already, or is just moving it to its place: it was not given another name.
    case fileNameIsFixed(String, asked: String)
    /// The server answered with a status that is not a file.
    case unacceptableStatusCode(code: Int)
    /// The download failed for another reason.
    case failed(DownloadFailure)
    /// A directory of the cache could not be made, read or emptied.
    case cacheError(path: String, message: String)
    /// The records could not be read or written.
    case storeError(StoreError)
    /// The download whose file was waited for is at rest without one, for somebody has suspended, canceled or removed it.
    case notFinished(Status)
    /// The manager was invalidated, or is gone.
    case invalidated
}

extension LannerError {
    init(_ failure: DownloadFailure) {
        switch failure.reason {
        case .status(let code): self = .unacceptableStatusCode(code: code)
        case .transport, .unusableResponse, .redirect, .link, .checksumMismatch, .disk, .store:
            self = .failed(failure)
        }
    }
}

extension DownloadFailure: LocalizedError {
    /// The ``detail``.
    public var errorDescription: String? { detail }
}

extension LannerError: LocalizedError, CustomStringConvertible {
    /// One sentence for a person.
    public var errorDescription: String? { description }

    /// One sentence for a person: what failed, where it is not the download as a whole, and what to do where that is
    /// known.
    public var description: String {
        switch self {
        case .invalidURL(let url): "“\(Self.shown(url))” is not an http or https URL\(Self.fault(of: url))."
        case .duplicateURL(let url):
            "“\(Self.shown(url))” is in the batch more than once; only the first counts."
        case .indexOutOfRange: "There is no task at that position."
        case .fetchDownloadTaskFailed(let url):
            url as? String == "" ? "There is no task." : "There is no task for “\(Self.shown(url))”."
        case .duplicateKey(let key):
            "The key “\(Self.shown(key))” is in the batch more than once; only the first counts."
        case .noTask(let key): "There is no task with the key “\(Self.shown(key))”."
        case .headersMatchFailed: "The batch has another number of headers than of URLs; give one for each, or none."
        case .fileNamesMatchFailed:
            "The batch has another number of file names than of URLs; give one for each, or none."
        case .codesMatchFailed: "There is another number of digests than of tasks; give one for each."
        case .invalidFileName(let name):
            "“\(name)” cannot be a file name: give one name of at most 255 bytes, without a directory."
        case .invalidDestination(let path): "“\(path)” cannot be the path of a file: give names separated by slashes."
        case .destinationNotAllowed(let path):
            "“\(path)” is in no directory where files may be put; allow its directory when you make the cache."
        case .destinationTaken(let path):
            "Another task downloads to “\(path)”; remove that one, choose another path, or another conflict policy."
        case .fileNameIsFixed(let name, let asked):
            "The file is there as “\(name)” and was not renamed to “\(asked)”; remove the task first to download it again."
        case .unacceptableStatusCode(let code):
            "The server answered with status \(code), which is not a file; \(Self.advice(for: code))."
        case .failed(let failure): failure.detail
        case .cacheError(let path, let message): message.contains(path) ? message : "\(path): \(message)"
        case .storeError(let error): error.message
        case .notFinished(let status):
            "The download is \(status.rawValue) and has no file; "
                + (status.isGone ? "ask for it again." : "start it, or ask for it again.")
        case .invalidated: "The session manager was invalidated or is gone; make a new one, and keep it."
        }
    }

    /// What there is to do about a status that is no success.
    private static func advice(for status: Int) -> String {
        switch status {
        case 401, 403: "check the URL, and whether it needs credentials, or other ones"
        case 404, 410: "check the URL"
        case 407: "give the proxy a user name and password"
        case 511: "log in to the network first"
        case _ where DownloadFailure.Reason.status(status).isWorthRetrying: "try again later"
        default: "check the URL and the header fields"
        }
    }

    /// What is wrong with a URL that cannot be downloaded.
    private static func fault(of url: any URLConvertible) -> String {
        guard let text = try? url.asURL().absoluteString else { return "" }
        do throws(WebAddress.Refusal) {
            _ = try WebAddress(text)
            return ""
        } catch {
            return ": it \(error.reason)"
        }
    }

    /// A URL, or a key, which mostly is one, without the credentials in it; of what makes none only what it is.
    private static func shown(_ url: any URLConvertible) -> String {
        let text = url as? String ?? (try? url.asURL())?.absoluteString
        return text.map(Destination.redacted) ?? "\(type(of: url))"
    }
}
