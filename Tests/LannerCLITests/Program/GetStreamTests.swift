#if os(macOS) || os(Linux)
import Foundation
import Lanner
import LannerLoopback
import ProgramSupport
import Testing

/// Standard input and output that are closed, full, or that nobody reads.
@Suite(.serialized, .timeLimit(.minutes(10))) struct GetStreamTests {
    let server: LoopbackServer
    let place: Workplace
    let small = LoopbackServer.Resource(.generated(seed: 1, length: 100_000))

    init() throws {
        server = try LoopbackServer()
        place = try Workplace()
        server.put("small.bin", small)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    @Test func stopsInOrderWhenNoOneReads() async throws {
        server.script("small.bin", [.hold])
        // A pipe without a reader.
        let script = #"mkfifo p && exec 3<>p 4>p 3<&- && rm p && exec "$0" "$@" >&4"#
        let get = try await Program.run(["get", "--json", url("small.bin")], in: place, script: script)
        #expect(get.code == -SIGPIPE)
        #expect(get.errors.isEmpty)
    }

    #if os(Linux)
    @Test(arguments: [["--json"], []]) func stopsInOrderWhenNoOneReadsAPipe(_ options: [String]) async throws {
        server.script("small.bin", [.hold])
        let words = ["get", url("small.bin")] + options
        // A pipe that is full.
        let fill = "dd if=/dev/zero bs=4096 oflag=nonblock >&3 2>/dev/null"
        let script = #"mkfifo p && exec 3<>p && rm p && \#(fill); exec "$0" "$@" "#
        let get = try Program(words, in: place, script: script + (options.isEmpty ? "2>&3" : ">&3"))
        try await server.waitForStalls(1)
        get.send(SIGINT)
        #expect(await get.result().code == -SIGINT)
        #expect(place.names.isEmpty)
        server.clearScript("small.bin")
        #expect(try await Program.run(words, in: place).code == 0)
        #expect(place.bytes("small.bin") == small.bytes)
    }

    @Test func stopsInOrderWhenNoOneReadsATerminal() async throws {
        server.script("small.bin", [.hold])
        let terminal = try UnreadTerminal()
        // Their failures are more to tell than it takes.
        let missing = (0..<200).map { url("missing-\($0)") }
        try place.write(Array(([url("small.bin")] + missing).joined(separator: "\n").utf8), to: "list")
        let script = #"exec "$0" "$@" 2>\#(terminal.path)"#
        let get = try Program(["get", "-i", "list"], in: place, script: script)
        _ = try await server.waitForRequests(201)
        get.send(SIGINT)
        #expect(await get.result().code == -SIGINT)
        withExtendedLifetime(terminal) {}
    }
    #endif

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func stopsInOrderWhenOutputCannotBeWritten() async throws {
        server.script("small.bin", [.hold])
        let words = ["get", "--json", url("small.bin")]
        let get = try await Program.run(words, in: place, script: #"exec "$0" "$@" >/dev/full"#)
        #expect(get.code == 1)
        #expect(get.errors == ["lanner: standard output cannot be written: No space left on device"])
        // It may have ended before it asked.
        server.clearScript("small.bin")
        #expect(try await Program.run(words, in: place).code == 0)
        #expect(place.bytes("small.bin") == small.bytes)
    }

    @Test func takesNothingElseForAClosedStream() async throws {
        let (words, silently) = (["get", url("small.bin")], #"exec "$0" "$@" <&- >&- 2>&-"#)
        let unread = try await Program.run(words + ["--json"], in: place, script: #"exec "$0" "$@" >&-"#)
        #expect(unread.code == 1)
        #expect(unread.errors == ["lanner: standard output cannot be written: Bad file descriptor"])
        #expect(try await Program.run(words, in: place, script: silently).code == 0)
        #expect(place.bytes("small.bin") == small.bytes)
    }

    @Test func tellsWhyAFileCannotBeRead() async throws {
        let advice = "; check its name, and that you may read it"
        let calls = [
            (["-i", "none"], "the list “none” cannot be read: No such file or directory"),
            (["-i", "."], "the list “.” cannot be read: Is a directory"),
            (["--ca-certificate=none", url("x")], "the certificates “none” cannot be read: No such file or directory"),
        ]
        for (words, reason) in calls {
            let get = try await Program.run(["get"] + words, in: place)
            #expect(get.code == 2 && get.errors == ["lanner: " + reason + advice])
        }
    }

    @Test func tellsThatStandardInputCannotBeRead() async throws {
        let get = try await Program.run(["get", "-i", "-"], in: place, script: #"exec "$0" "$@" <&-"#)
        #expect(get.code == 2)
        #expect(get.errors == ["lanner: standard input cannot be read; give the list through a pipe, or as a file"])
    }
}

#if os(Linux)
/// A terminal that nobody reads.
private final class UnreadTerminal {
    private struct NoTerminal: Error {}

    let path: String
    private let reader: Int32

    init() throws {
        reader = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number) = (Int32(0), Int32(0))
        // TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)).
        guard reader >= 0, ioctl(reader, 0x4004_5431, &lock) == 0, ioctl(reader, 0x8004_5430, &number) == 0 else {
            throw NoTerminal()
        }
        path = "/dev/pts/\(number)"
    }

    deinit { close(reader) }
}
#endif
#endif
