import Foundation
import LannerCore

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What ``SessionRelay`` tells of a task: URLSession's delegate calls, one at a time. They may neither wait nor call back
/// into URLSession.
protocol TaskFollower: AnyObject, Sendable {
    /// Ends it with a failure, from any thread; does nothing after its end.
    func abandon(_ failure: TransportFailure)

    func took(response: HTTPURLResponse)
    func took(data: Data)
    /// A download task goes on behind so many bytes of the file, if the answer does.
    func took(offset: Int64, response: HTTPURLResponse?)
    /// It has written so many bytes of the file in all.
    func took(written: Int64, response: HTTPURLResponse)
    /// The file is gone when this returns.
    func took(file: URL, response: HTTPURLResponse?)
    /// The response is complete, and the task will not end by itself.
    func answered(by response: HTTPURLResponse?)
    func ended(_ error: (any Error)?, response: HTTPURLResponse?)
}

/// What ``SessionControl`` knows of an exchange besides.
protocol SessionExchange: TaskFollower {
    /// Host and port, for the limit on connections.
    var host: String { get }

    /// Whether nobody waits for the exchange any more. Asked on the control queue.
    var isOver: Bool { get }

    /// Makes the task, not resumed. Called once at most, on the control queue.
    func makeTask(in session: URLSession) -> URLSessionTask

    /// Whether it is still told what happens to a task that it has stopped.
    var isToldToTheEnd: Bool { get }

    /// Ends the task, whose callbacks no longer arrive unless it is told to the end; nil when there is none any more, nor
    /// will be. Called on the control queue, after ``SessionControl/stop(_:)``, perhaps more than once.
    func stop(_ task: URLSessionTask?)
}

extension ResponseHead {
    /// What URLSession says of a response. It keeps no order, so the names are sorted; lines of one name have been
    /// joined by commas, and of lines whose names differ in case one was chosen at random. Its own conclusions are not
    /// used: `expectedContentLength` is that of the coded body, `suggestedFilename` may be `..`.
    init(_ response: HTTPURLResponse) {
        let lines = response.allHeaderFields.compactMap { name, value -> HeaderFields.Field? in
            guard let name = name as? String, let value = value as? String else { return nil }
            return HeaderFields.Field(name: name, value: value)
        }
        self.init(status: response.statusCode, fields: HeaderFields(lines.sorted { $0.name < $1.name }))
    }

    /// The same of a download task, which the system may have led elsewhere: in the background, or by resume data.
    static func ofDownload(_ response: HTTPURLResponse) -> ResponseHead {
        var head = ResponseHead(response)
        head.url = response.url?.absoluteString
        return head
    }
}

extension URLRequest {
    var hostAndPort: String {
        let scheme = url?.scheme ?? ""
        let port = url?.port.map(String.init) ?? ""
        return "\(scheme)://\(url?.host ?? ""):\(port)"
    }
}
