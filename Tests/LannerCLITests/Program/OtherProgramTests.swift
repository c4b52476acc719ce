#if os(macOS) || os(Linux)
import Foundation
import ProgramSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct OtherProgramTests {
    let place: Workplace

    init() throws {
        place = try Workplace()
        try place.write("abc".utf8, to: "abc")
    }

    private static let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let md5 = "900150983cd24fb0d6963f7d28e17f72"

    @Test func hashesFilesAndStandardInput() async throws {
        let sha256 = try await Program.run(["hash", "abc", "-"], in: place, input: "abc")
        #expect(sha256.code == 0)
        #expect(sha256.output == [Self.sha256 + "  abc", Self.sha256 + "  -"])
        let md5 = try await Program.run(["hash", "--algorithm", "md5", "abc"], in: place)
        #expect(md5.output == [Self.md5 + "  abc"])
    }

    @Test func goesOnBehindAFileThatCannotBeRead() async throws {
        let result = try await Program.run(["hash", "none", ".", "abc"], in: place)
        #expect(result.code == 1)
        #expect(result.output == [Self.sha256 + "  abc"])
        #expect(result.errors.count == 2)
        #expect(result.errors.allSatisfy { $0.hasPrefix("lanner: ") })
    }

    @Test func verifies() async throws {
        let right = try await Program.run(["verify", "md5:" + Self.md5.uppercased(), "abc"], in: place)
        #expect(right.code == 0)
        #expect(right.output == ["abc: OK"])
        let wrong = try await Program.run(["verify", "md5:" + String(repeating: "0", count: 32), "abc"], in: place)
        #expect(wrong.code == 3)
        #expect(wrong.errors.count == 1)
        #expect(try await Program.run(["verify", "md5:" + Self.md5, "none"], in: place).code == 4)
        #expect(try await Program.run(["verify", "md5:" + Self.md5, "-"], in: place, input: "abc").code == 0)
    }

    /// There is a device that is always full.
    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")),
        arguments: [["hash", "abc"], ["verify", "md5:" + md5, "abc"], ["--version"], ["get", "--help"]])
    func tellsThatOutputCannotBeWritten(_ words: [String]) async throws {
        let result = try await Program.run(words, in: place, script: #"exec "$0" "$@" >/dev/full"#)
        #expect(result.code == 1)
        #expect(result.errors == ["lanner: standard output cannot be written: No space left on device"])
    }

    @Test(arguments: ["hash", "verify md5:" + md5, "get --json http://127.0.0.1/x -o"])
    func refusesAnArgumentThatIsNoText(_ words: String) async throws {
        let number = words.split(separator: " ").count + 1
        let script = #"exec "$0" \#(words) "$(printf 'a\377')""#
        let result = try await Program.run([], in: place, script: script)
        #expect(result.code == 2)
        #expect(result.output.count == (words.contains("--json") ? 1 : 0))
        #expect(result.errors == ["lanner: argument \(number), “a\u{FFFD}”, is not UTF-8"])
    }

    @Test func tellsItsVersionAndHelps() async throws {
        #expect(try await Program.run(["--version"], in: place).output.first?.hasPrefix("lanner ") == true)
        #expect(try await Program.run(["get", "--help"], in: place).output.first == "Usage: lanner get [options] URL…")
    }

    @Test func demonstrates() async throws {
        let script = #"HOME="$PWD" TMPDIR="$PWD" http_proxy=http://127.0.0.1:1 exec "$0" "$@""#
        let result = try await Program.run(["demo"], in: place, script: script)
        #expect(result.code == 0)
        #expect(place.names == ["abc"])
        #expect(result.errors.last?.hasSuffix("All 5 files have the right SHA-256.") == true)
        #expect(result.errors.contains { $0.hasPrefix("paused.bin: goes on at ") })
        #expect(result.errors.contains { $0.hasPrefix("large.bin: tries again in ") })
    }
}
#endif
