import CLannerCurl
import Dispatch
import Foundation
import LannerCore

/// One exchange as libcurl carries it out. Only on the loop's thread.
final class CurlTransfer {
    let exchange: CurlExchange
    let handle: Handle
    let origin: Origin
    private unowned let loop: Loop
    private var reader = HeadReader()
    private var gatherer: Gatherer
    private var hasLength = false
    /// Bytes of the body that were announced and have not come; not positive where none were.
    private var missing: Int64 = 0
    /// Whether libcurl still has bytes that were not taken.
    private(set) var isHolding = false
    /// When it began, or bytes of the body last came.
    private var lastHeard = DispatchTime.now()
    /// Whether it was begun again over a new connection.
    private var isAgain = false
    /// Why the transfer was given up from inside; libcurl only says that it was.
    private var refusal: TransportFailure?

    /// Throws when the request cannot be sent.
    init(
        _ exchange: CurlExchange, _ handle: Handle, _ options: CurlTransport.Options, loop: Loop, pool: SlabPool
    ) throws(TransportFailure) {
        let request = exchange.request
        let address = try TransportRules.address(of: request)
        if options.pinnedPublicKey != nil, address.scheme == "http" { throw .unpinned }
        let header = try Self.header(request.fields, userAgent: options.userAgent)
        self.exchange = exchange
        self.handle = handle
        self.loop = loop
        origin = address.origin
        gatherer = Gatherer(pool)
        handle.aim(at: address, within: TransportRules.seconds(request.timeout), isLimited: request.isLimited)
        handle.setHeader(header.request, of: LANNER_CURL_HTTP_HEADER)
        if !header.proxy.isEmpty { handle.setHeader(header.proxy, of: LANNER_CURL_PROXY_HEADER) }
        let own = Unmanaged.passUnretained(self).toOpaque()
        handle.setReceiver(LANNER_CURL_HEADER_FUNCTION, LANNER_CURL_HEADER_CONTEXT, takeLine, own)
        handle.setReceiver(LANNER_CURL_WRITE_FUNCTION, LANNER_CURL_WRITE_CONTEXT, takeBytes, own)
        try handle.check()
    }

    /// The lines as libcurl takes them: one with nothing behind the colon would remove a field, so that an empty value
    /// is written with a semicolon. `Accept` is one libcurl adds unless told not to. What logs into a proxy is for the proxy,
    /// and for nobody behind it, nor for a server that is asked without one.
    private static func header(
        _ fields: HeaderFields, userAgent: String
    ) throws(TransportFailure) -> (request: [String], proxy: [String]) {
        var (lines, proxy): ([String], [String]) = ([], [])
        lines.reserveCapacity(fields.fields.count + 2)
        if fields["Accept"] == nil { lines.append("Accept:") }
        for field in fields.fields {
            if HeaderFields.same(field.name, "Proxy-Authorization") {
                proxy.append(try line(field))
            } else {
                lines.append(try line(field))
            }
        }
        if fields["User-Agent"] == nil { lines.append(try line(.init(name: "User-Agent", value: userAgent))) }
        return (lines, proxy)
    }

    private static func line(_ field: HeaderFields.Field) throws(TransportFailure) -> String {
        try TransportRules.check(field)
        let value = Substring(FieldText.trimmed(Substring(field.value).utf8))
        return value.isEmpty ? field.name + ";" : field.name + ": " + value
    }

    // MARK: What comes

    func take(line: UnsafeRawBufferPointer) -> Int {
        loop.hasHeard = true
        return refuse(reader.add(line)) ? 0 : line.count
    }

    /// Returns how many were taken: all, none, which ends the transfer, or that they have to come again.
    func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastHeard = .now()
        do {
            try reportHead()
        } catch {
            _ = refuse(error)
            return 0
        }
        guard !exchange.isOver else { return 0 }
        isHolding = exchange.holds(with: gatherer.count)
        guard !isHolding else {
            // Only what has been posted makes room.
            flush()
            loop.held(self)
            return Int(LANNER_CURL_HOLD)
        }
        loop.hasHeard = true
        missing -= Int64(bytes.count)
        if gatherer.count == 0, bytes.count < Gatherer.smallest, reader.length == .bytes(Int64(bytes.count)) {
            // All there is: nothing else is to be waited for.
            exchange.post(.bytes(Data(bytes)))
            return bytes.count
        }
        if gatherer.count == 0 { loop.gathered(self) }
        gatherer.append(bytes) { exchange.post(.bytes($0)) }
        return bytes.count
    }

    private func refuse(_ failure: TransportFailure?) -> Bool {
        refusal = refusal ?? failure
        return refusal != nil
    }

    private func reportHead() throws(TransportFailure) {
        guard let head = try reader.take() else { return }
        hasLength = head.fields["Content-Length"] != nil
        if 200..<300 ~= head.status, head.status != 204, case .bytes(let count) = reader.length { missing = count }
        if case .part(let range, _) = ContentRange(fields: head.fields) { gatherer.begin(at: range.lowerBound) }
        exchange.post(.head(head))
    }

    // MARK: What goes on

    /// How many bytes have been gathered and not handed over.
    var gatheredCount: Int { gatherer.count }

    /// Hands over what has been gathered.
    func flush() {
        if let piece = gatherer.take() { exchange.post(.bytes(piece)) }
    }

    /// Whether nothing has come for a while, though it might: the connection may be dead, and nobody has said so.
    var isSilent: Bool { !isHolding && lastHeard + Self.silence < .now() }

    private static let silence = DispatchTimeInterval.seconds(2)

    /// Whether nothing has come, and no connection was new: libcurl tries those that are kept one after the other, and gives up
    /// after some that were dead.
    func mayAskAgain(after code: Int32) -> Bool {
        guard code == TransferEnd.sendError, !isAgain, refusal == nil, !exchange.isOver, reader.isUntouched else {
            return false
        }
        return handle.end(code, hasLength: hasLength).isReused
    }

    func beginAgain() {
        isAgain = true
        handle.forgetWords()
        handle.set(LANNER_CURL_FRESH_CONNECT, 1)
        lastHeard = .now()
    }

    /// libcurl is through with it.
    func finish(_ code: Int32) {
        if let refusal { return exchange.finish(.failure(refusal)) }
        guard code == 0 else {
            // What came before it broke off may say more than that it did: where to go on, or that there is nothing.
            try? reportHead()
            flush()
            return exchange.finish(.failure(failure(code)))
        }
        do {
            try reportHead()
            flush()
            if isHolding { return exchange.finish(.failure(.bytesForgotten)) }
            // Not everything that tells of a length keeps libcurl counting.
            exchange.finish(missing > 0 ? .failure(.tooShort(by: missing, origin.host)) : .end)
        } catch {
            exchange.finish(.failure(error))
        }
    }

    private func failure(_ code: Int32) -> TransportFailure {
        let end = handle.end(code, hasLength: hasLength)
        if end.isOfEarlierAnswer { loop.distrust(origin) }
        return TransportFailure(end.fault, "\(origin.host): \(end.words)")
    }
}

private func takeLine(
    _ bytes: UnsafePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.take(line: UnsafeRawBufferPointer(start: bytes, count: size * count))
}

private func takeBytes(
    _ bytes: UnsafePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context, size * count > 0 else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    return transfer.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
}
