import CLannerCurl
import Foundation
import LannerCore

/// One `CURL` handle and what it needs as long as it lives. Freed on the loop's thread, outside the loop's handle.
final class Handle {
    let easy: OpaquePointer
    private let message: UnsafeMutablePointer<CChar>
    /// What libcurl reads until the end of the transfer.
    private var lists: [OpaquePointer] = []
    /// The first option that libcurl did not take.
    private var refusal: (option: lanner_curl_option, result: Int32)?

    /// Nil when there is no memory.
    init?(_ options: CurlTransport.Options) {
        guard let easy = lanner_curl_easy_make() else { return nil }
        self.easy = easy
        message = .allocate(capacity: Int(LANNER_CURL_MESSAGE_SIZE))
        message.initialize(repeating: 0, count: Int(LANNER_CURL_MESSAGE_SIZE))
        begin(options)
    }

    private func begin(_ options: CurlTransport.Options) {
        lanner_curl_set_pointer(easy, LANNER_CURL_ERROR_BUFFER, message)
        prepare(options)
    }

    deinit {
        lanner_curl_easy_free(easy)
        freeLists()
        message.deallocate()
    }

    // MARK: Options

    func set(_ option: lanner_curl_option, _ value: Int) {
        note(option, lanner_curl_set_number(easy, option, value))
    }

    /// Nil sets nothing.
    func set(_ option: lanner_curl_option, _ value: String?) {
        guard let value else { return }
        note(option, lanner_curl_set_text(easy, option, value))
    }

    /// Sets what not every libcurl knows; whether it was taken.
    @discardableResult
    func ask(_ option: lanner_curl_option, _ value: Int) -> Bool {
        lanner_curl_set_number(easy, option, value) == 0
    }

    /// The same for text.
    @discardableResult
    func ask(_ option: lanner_curl_option, _ value: String) -> Bool {
        lanner_curl_set_text(easy, option, value) == 0
    }

    /// Sets a list of lines.
    func setHeader(_ header: [String], of option: lanner_curl_option) {
        var list: OpaquePointer?
        defer { if let list { lists.append(list) } }
        for line in header {
            guard let longer = lanner_curl_list_append(list, line) else {
                return note(option, TransferEnd.outOfMemory)
            }
            list = longer
        }
        note(option, lanner_curl_set_list(easy, option, list))
    }

    private func freeLists() {
        for list in lists { lanner_curl_list_free(list) }
        lists.removeAll(keepingCapacity: true)
    }

    func setReceiver(
        _ function: lanner_curl_option, _ context: lanner_curl_option, _ receiver: @escaping lanner_curl_receiver,
        _ value: UnsafeMutableRawPointer
    ) {
        note(function, lanner_curl_set_receiver(easy, function, receiver))
        note(context, lanner_curl_set_pointer(easy, context, value))
    }

    /// Programs that are started meanwhile do not inherit the connections.
    func keepFromChildren() {
        note(LANNER_CURL_SOCKET_FUNCTION, lanner_curl_close_in_children(easy))
    }

    /// Throws when an option was not taken: a key that is not pinned is not what was asked for.
    func check() throws(TransportFailure) {
        guard let refusal else { return }
        // What is missing may be there later.
        throw TransportFailure(
            refusal.result == TransferEnd.outOfMemory ? .other : .unavailable,
            "libcurl does not take its option \(refusal.option.rawValue): \(String(cString: lanner_curl_text(refusal.result)))"
        )
    }

    /// As if libcurl had not taken it.
    func refuse(_ option: lanner_curl_option) {
        note(option, TransferEnd.badArgument)
    }

    private func note(_ option: lanner_curl_option, _ result: Int32) {
        if result != 0, refusal == nil { refusal = (option, result) }
    }

    /// The port of a connection is not positive while there is none.
    var hasConnection: Bool { lanner_curl_number(easy, LANNER_CURL_LOCAL_PORT) > 0 }

    // MARK: The end

    /// What was said of one that ends is nothing of the next.
    func forgetWords() {
        message.pointee = 0
    }

    /// How the transfer ended.
    func end(_ code: Int32, hasLength: Bool) -> TransferEnd {
        let own = String(cString: message)
        var end = TransferEnd(
            code: code,
            text: TransferEnd.mayBeOfEarlierTry(own, code) ? String(cString: lanner_curl_text(code)) : own,
            systemError: Int32(truncatingIfNeeded: lanner_curl_number(easy, LANNER_CURL_SYSTEM_ERROR)),
            proxyStatus: Int(lanner_curl_number(easy, LANNER_CURL_CONNECT_STATUS)),
            proxyError: Int(lanner_curl_number(easy, LANNER_CURL_PROXY_ERROR)), hasLength: hasLength,
            isReused: hasConnection && lanner_curl_number(easy, LANNER_CURL_NEW_CONNECTIONS) == 0)
        if end.hasNoRouteToLast { end.hasRoute = lanner_curl_has_route() != 0 }
        if end.hasUnreadFile { end.hasTooManyFiles = Self.hasTooManyFiles }
        return end
    }

    /// Whether there is hardly room for more files. The connection that ended has given back what it had.
    private static var hasTooManyFiles: Bool {
        let probes = (0..<4).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        let error = errno
        for probe in probes where probe >= 0 { close(probe) }
        return probes.contains(-1) && [EMFILE, ENFILE].contains(error)
    }

    /// Gives up all that has to do with the last transfer, after its end; whether the handle is as good as new.
    func forgetTransfer(_ options: CurlTransport.Options) -> Bool {
        lanner_curl_easy_reset(easy)
        freeLists()
        forgetWords()
        begin(options)
        // Of an address that did not answer before another did: libcurl keeps it until the next that does not.
        return refusal == nil && lanner_curl_number(easy, LANNER_CURL_SYSTEM_ERROR) == 0
    }
}
