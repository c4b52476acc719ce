import Foundation

/// A non-blocking TCP socket on 127.0.0.1, used by one thread at a time.
final class Socket: Sendable {
    let descriptor: Int32
    private let isOpen = Guarded(true)

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        Socket.closeOnExec(descriptor)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        #if canImport(Darwin)
        set(SOL_SOCKET, SO_NOSIGPIPE, Int32(1))
        #endif
    }

    deinit {
        close()
    }

    /// Closes; nothing else is called afterwards. Twice does nothing.
    func close() {
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { Socket.systemClose(descriptor) }
    }

    /// Listens on a port of 127.0.0.1, a free one for 0.
    static func listening(on port: UInt16) throws(LoopbackServer.Failure) -> Socket {
        let descriptor = socket(AF_INET, streamType, 0)
        guard descriptor >= 0 else { throw .system("socket") }
        let made = Socket(descriptor)
        made.set(SOL_SOCKET, SO_REUSEADDR, Int32(1))
        var address = loopbackAddress(port)
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, addressSize) }
        }
        guard bound == 0 else { throw .system("bind") }
        guard listen(descriptor, 128) == 0 else { throw .system("listen") }
        return made
    }

    /// The next connection that waits; nil when none does, or when it cannot be taken now.
    func accept() -> Socket? {
        #if canImport(Darwin)
        let taken = Darwin.accept(descriptor, nil, nil)
        #elseif canImport(Glibc)
        let taken = Glibc.accept(descriptor, nil, nil)
        #elseif canImport(Musl)
        let taken = Musl.accept(descriptor, nil, nil)
        #endif
        guard taken >= 0 else { return nil }
        let made = Socket(taken)
        made.set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
        return made
    }

    /// The port the socket is bound to.
    func port() throws(LoopbackServer.Failure) -> UInt16 {
        var address = sockaddr_in()
        var size = Socket.addressSize
        let found = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard found == 0 else { throw .system("getsockname") }
        return UInt16(bigEndian: address.sin_port)
    }

    /// What one attempt to move bytes came to.
    enum Attempt {
        case moved(Int)
        case wouldBlock
        case ended
    }

    /// Sends what the kernel takes now. Never raises SIGPIPE.
    func send(_ bytes: UnsafeRawBufferPointer) -> Attempt {
        attempt { Socket.systemSend(descriptor, bytes) }
    }

    /// Receives what is there now; `ended` when the other side has closed.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Attempt {
        switch attempt({ recv(descriptor, buffer.baseAddress, buffer.count, 0) }) {
        case .moved(0): .ended
        case let other: other
        }
    }

    /// Says that no more is sent; what is on its way still arrives.
    func finishSending() {
        shutdown(descriptor, Socket.writeSide)
    }

    /// Makes the close that follows a reset, which drops what is on its way.
    func resetOnClose() {
        set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    }

    static func closeOnExec(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    private func attempt(_ call: () -> Int) -> Attempt {
        while true {
            let count = call()
            if count >= 0 { return .moved(count) }
            if errno == EINTR { continue }
            return errno == EAGAIN || errno == EWOULDBLOCK ? .wouldBlock : .ended
        }
    }

    private func set<Value: BitwiseCopyable>(_ level: Int32, _ option: Int32, _ value: Value) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Value>.size))
    }
}

// What the platforms spell differently.
extension Socket {
    fileprivate static let addressSize = socklen_t(MemoryLayout<sockaddr_in>.size)

    #if canImport(Glibc)
    fileprivate static let streamType = Int32(SOCK_STREAM.rawValue)
    fileprivate static let writeSide = Int32(SHUT_WR)
    #else
    fileprivate static let streamType = SOCK_STREAM
    fileprivate static let writeSide = SHUT_WR
    #endif

    fileprivate static func loopbackAddress(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        #if canImport(Darwin)
        address.sin_len = UInt8(addressSize)
        #endif
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    fileprivate static func systemClose(_ descriptor: Int32) {
        #if canImport(Darwin)
        _ = Darwin.close(descriptor)
        #elseif canImport(Glibc)
        _ = Glibc.close(descriptor)
        #elseif canImport(Musl)
        _ = Musl.close(descriptor)
        #endif
    }

    fileprivate static func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Darwin)
        Darwin.send(descriptor, bytes.baseAddress, bytes.count, 0)
        #elseif canImport(Glibc)
        Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #elseif canImport(Musl)
        Musl.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        #endif
    }
}
