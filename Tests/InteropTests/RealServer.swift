#if os(macOS) || os(Linux)
import Foundation
import LannerCore
import LannerLoopback
import ProgramSupport

/// A server program of the system that serves a directory of its own on 127.0.0.1, until it is stopped.
///
/// A test that needs one is marked `.enabled(if: RealServer.isThere(.nginx))`: where the program is missing, the test
/// is skipped, but with `LANNER_NEEDS_SERVERS` in the environment it runs and fails.
final class RealServer {
    /// The programs that are known.
    enum Program: String, CaseIterable, Sendable {
        /// Ranges, ETag, Last-Modified, keep-alive, an access log.
        case nginx
        /// Ranges, ETag, Last-Modified, keep-alive.
        case lighttpd
        /// `http.server`: no ranges, no ETag, HTTP/1.0.
        case python3
    }

    /// What nginx speaks TLS with; files (PEM).
    struct Security {
        var certificate: String
        var key: String
        /// Who certifies clients; nil where anybody is answered.
        var clientAuthority: String?
    }

    struct Failed: Error, CustomStringConvertible {
        var description: String
    }

    /// The port it listens on.
    let port: UInt16
    /// What it serves.
    let root: URL
    private let directory: URL
    private let scheme: String
    private let process: ChildProcess

    /// Starts a program and returns when it accepts connections.
    ///
    /// - Parameters:
    ///   - program: What to start.
    ///   - bytesPerSecond: The most each connection is sent in a second; nil for as much as goes.
    ///   - requestsPerSecond: How many requests nginx answers in a second; others get a 429. Nil for all.
    ///   - idleSeconds: How long nginx keeps a connection on which nothing is asked for.
    ///   - security: For TLS, HTTP/2 included, which only nginx is set up for.
    /// - Throws: ``Failed`` when the program is missing or does not start, with what it said.
    init(
        _ program: Program, bytesPerSecond: Int? = nil, requestsPerSecond: Int? = nil, idleSeconds: Int = 3600,
        security: Security? = nil
    ) throws {
        scheme = security == nil ? "http" : "https"
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)")
        root = directory.appendingPathComponent("root")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let setup = Setup(
            program: program, directory: directory, root: root, bytesPerSecond: bytesPerSecond,
            requestsPerSecond: requestsPerSecond, idleSeconds: idleSeconds, security: security)
        (process, port) = try setup.run()
    }

    /// Starts a program; waiting for it holds a thread, which is none of those the tests share.
    ///
    /// A slow one sends 4 MiB in a second: over the four connections of a download with ranges, or over one.
    static func started(
        _ program: Program, isSlow: Bool = false, requestsPerSecond: Int? = nil
    ) async throws -> RealServer {
        let rate = program == .python3 ? 4 << 20 : 1 << 20
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "lanner.interop.start").async {
                do {
                    continuation.resume(
                        returning: try RealServer(
                            program, bytesPerSecond: isSlow ? rate : nil, requestsPerSecond: requestsPerSecond))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    deinit {
        stop()
    }

    /// Ends the program and removes its directory, the files it served included. Twice does nothing.
    func stop() {
        process.end()
        try? FileManager.default.removeItem(at: directory)
    }

    /// The program that runs, for any thread.
    struct Running: Sendable {
        fileprivate let identifier: pid_t

        /// Has it stand still, its connections open, until it is to go on.
        func pause() { kill(identifier, SIGSTOP) }

        /// Lets it go on.
        func resume() { kill(identifier, SIGCONT) }
    }

    var program: Running { Running(identifier: process.identifier) }

    /// The URL of a file in the root.
    func url(_ name: String) -> URL {
        URL(fileURLWithPath: "/" + name).path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed)
            .flatMap { URL(string: "\(scheme)://127.0.0.1:\(port)\($0)") } ?? root
    }

    /// Puts a file into the root, in the place of one that is there, in one step.
    func put(_ name: String, _ content: LoopbackServer.Resource) throws {
        let new = directory.appendingPathComponent("new")
        try Data().write(to: new)
        let file = try FileHandle(forWritingTo: new)
        try content.forEachPiece { try file.write(contentsOf: Data($0)) }
        try file.close()
        if let date = content.lastModified {
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: new.path)
        }
        let place = root.appendingPathComponent(name)
        guard rename(new.path, place.path) == 0 else { throw Failed(description: "cannot put \(name): \(errno)") }
    }

    /// The SHA-256 of a file in the root.
    func digest(_ name: String) throws -> Checksum.Digest {
        try Checksum.digest(ofFileAt: root.appendingPathComponent(name).path, algorithm: .sha256)
    }
}

// The access log of nginx.
extension RealServer {
    /// A line of nginx's access log: one request that is over.
    struct LogEntry: Equatable {
        var status: Int
        /// Bytes of body handed to the kernel.
        var bodyBytes: Int64
        /// Bytes handed to the kernel, the header included.
        var bytes: Int64
        var method: String
        var path: String
        /// The protocol: HTTP/2.0.
        var version: String
        /// nginx's number of the connection.
        var connection: String
        /// The `Range` field, "-" for none.
        var range: String
        /// The `Proxy-Authorization` field, "-" for none.
        var proxyAuthorization: String
    }

    static let logFormat =
        "$status $body_bytes_sent $bytes_sent $request_method $uri $server_protocol $connection $http_range "
        + "$http_proxy_authorization"

    /// The lines of the access log that count, as soon as there are so many; nginx writes one behind each request.
    func accessLog(
        atLeast count: Int = 0, where isCounted: (LogEntry) -> Bool = { _ in true }
    ) throws -> [LogEntry] {
        var entries: [LogEntry] = []
        let isThere = try Patience.tries { _ in
            entries = try readLog().filter(isCounted)
            return entries.count >= count
        }
        guard isThere else { throw Failed(description: "\(entries.count) of \(count) requests in the log") }
        return entries
    }

    private func readLog() throws -> [LogEntry] {
        let text = try String(contentsOf: directory.appendingPathComponent("access.log"), encoding: .utf8)
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 8)
            guard words.count == 9, let status = Int(words[0]), let body = Int64(words[1]), let all = Int64(words[2])
            else { return nil }
            return LogEntry(
                status: status, bodyBytes: body, bytes: all, method: String(words[3]), path: String(words[4]),
                version: String(words[5]), connection: String(words[6]), range: String(words[7]),
                proxyAuthorization: String(words[8]))
        }
    }
}

// Finding the programs.
extension RealServer {
    /// Whether a test with the program is to be run: it is installed, or its absence is a failure.
    static func isThere(_ program: Program) -> Bool { isThere(program.rawValue) }

    static func isThere(_ program: String) -> Bool {
        executable(program) != nil || ProcessInfo.processInfo.environment["LANNER_NEEDS_SERVERS"] != nil
    }

    /// Where the program is; nil when it is not installed.
    static func executable(_ program: String) -> URL? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        // Servers are often outside the path of users.
        let directories =
            path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"]
        return directories.map { URL(fileURLWithPath: $0).appendingPathComponent(program) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
}

/// Starts one program: its configuration, its port, and waiting for it.
private struct Setup {
    var program: RealServer.Program
    var directory: URL
    var root: URL
    var bytesPerSecond: Int?
    var requestsPerSecond: Int?
    var idleSeconds: Int
    var security: RealServer.Security?

    /// Starts the program on a free port. Someone else may take the port just before; then another is tried.
    func run() throws -> (ChildProcess, UInt16) {
        guard let executable = RealServer.executable(program.rawValue) else {
            throw RealServer.Failed(description: "\(program.rawValue) is not installed")
        }
        for _ in 0..<5 {
            let port = try freePort()
            let said = try output()
            let process = try ChildProcess(executable.path, arguments(port), errors: said.fileDescriptor)
            try said.close()
            let accepts = Patience.tries { _ in process.result != nil || LocalConnection(port: port) != nil }
            if accepts, process.result == nil { return (process, port) }
            process.end()
        }
        let said = try? String(contentsOf: directory.appendingPathComponent("output"), encoding: .utf8)
        throw RealServer.Failed(description: "\(program.rawValue) does not start: \(said ?? "")")
    }

    /// Ports that were given before: of two programs on their way to one port the second would be taken for the first.
    private static let given = Locked<Set<UInt16>>([])

    /// Outside the range that the system takes ports from, lest another test is given it before the program has it.
    private func freePort() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: 10_000..<25_000)
            guard Self.given.withLock({ $0.insert(port).inserted }), let server = try? LoopbackServer(port: port)
            else { continue }
            server.stop()
            return port
        }
        throw RealServer.Failed(description: "no free port")
    }

    private func output() throws -> FileHandle {
        let file = directory.appendingPathComponent("output")
        try Data().write(to: file)
        return try FileHandle(forWritingTo: file)
    }

    /// Writes the configuration and makes the arguments for the foreground.
    private func arguments(_ port: UInt16) throws -> [String] {
        let file = directory.appendingPathComponent("configuration")
        switch program {
        case .nginx:
            try nginx(port).write(to: file, atomically: true, encoding: .utf8)
            return ["-p", directory.path, "-c", file.path, "-e", directory.path + "/error.log"]
        case .lighttpd:
            try lighttpd(port).write(to: file, atomically: true, encoding: .utf8)
            return ["-D", "-f", file.path]
        case .python3:
            try slowPython().write(to: file, atomically: true, encoding: .utf8)
            let plain = ["-m", "http.server", String(port), "--bind", "127.0.0.1", "--directory", root.path]
            return bytesPerSecond.map { [file.path, String(port), root.path, String($0)] } ?? plain
        }
    }

    /// `http.server`, which has no limit of its own, with pauses between the pieces of a body.
    private func slowPython() -> String {
        """
        import functools, http.server, sys, time

        port, root, rate = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])

        class Handler(http.server.SimpleHTTPRequestHandler):
            def copyfile(self, source, output):
                while piece := source.read(max(1, rate // 20)):
                    output.write(piece)
                    time.sleep(0.05)

        handler = functools.partial(Handler, directory=root)
        http.server.ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()
        """
    }

    private func nginx(_ port: UInt16) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \($0);" }
        return """
            # One process in the foreground: nothing stays when it is killed.
            daemon off;
            master_process off;
            pid nginx.pid;
            error_log error.log;
            events { worker_connections 512; }
            http {
                log_format entries '\(RealServer.logFormat)';
                access_log access.log entries;
                \(temporary.joined(separator: "\n    "))
                default_type application/octet-stream;
                sendfile on;
                tcp_nopush on;
                # By default however long a test waits for its turn between two requests.
                keepalive_timeout \(idleSeconds)s;
                limit_req_zone $server_port zone=all:1m rate=\(requestsPerSecond ?? 1000)r/s;
                server {
                    \(listening(port).joined(separator: "\n        "))
                    root "\(root.path)";
                    limit_rate \(bytesPerSecond ?? 0);
                    \(requestsPerSecond == nil ? "" : "limit_req zone=all; limit_req_status 429;")
                }
            }
            """
    }

    private func listening(_ port: UInt16) -> [String] {
        guard let security else { return ["listen 127.0.0.1:\(port);"] }
        let clients =
            security.clientAuthority.map { ["ssl_client_certificate \"\($0)\";", "ssl_verify_client on;"] } ?? []
        return [
            "listen 127.0.0.1:\(port) ssl http2;", "ssl_certificate \"\(security.certificate)\";",
            "ssl_certificate_key \"\(security.key)\";",
        ] + clients
    }

    private func lighttpd(_ port: UInt16) -> String {
        """
        server.document-root = "\(root.path)"
        server.bind = "127.0.0.1"
        server.port = \(port)
        mimetype.assign = ( "" => "application/octet-stream" )
        connection.kbytes-per-second = \((bytesPerSecond ?? 0) / 1024)
        # A file that was replaced is seen at once.
        server.stat-cache-engine = "disable"
        """
    }
}
#endif
