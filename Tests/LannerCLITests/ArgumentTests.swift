import Lanner
import Testing

@testable import LannerCLI

@Suite struct ArgumentTests {
    static let digest = "sha256:" + String(repeating: "0a", count: 32)
    static let url = "http://127.0.0.1/a"

    @Test func readsEveryOptionOfGet() throws {
        let words = [
            "get", "-o", "out.bin", "-d", "dir", "--checksum", Self.digest, "-j", "8", "--header", "X-Key: a: b ",
            "--header", "Accept:text/html", "--retries", "0", "--timeout", "30", "--transport", "urlsession", "-x",
            "16", "--limit-rate", "100k", "--priority", "very-high", "--mirror", "http://b/1",
            "--mirror=http://c/1", "--no-server-digests", "--json", "-q", Self.url,
        ]
        var expected = GetOptions(urls: [Self.url], output: "out.bin", directory: "dir", jobs: 8)
        expected.checksum = try Checksum.Digest(parsing: Self.digest)
        expected.headers = ["X-Key": "a: b", "Accept": "text/html"]
        (expected.retries, expected.timeout, expected.isJSON, expected.isQuiet) = (0, 30, true, true)
        (expected.transport, expected.connections) = (.urlsession, 16)
        (expected.rateLimit, expected.priority) = (102_400, .veryHigh)
        expected.mirrors = ["http://b/1", "http://c/1"]
        expected.checksServerDigests = false
        #expect(try Command(words) == .get(expected))
    }

    @Test func readsTheOtherFormsOfValues() throws {
        let expected = GetOptions(urls: ["-a", Self.url], jobs: 3, retries: 2)
        #expect(try Command(["get", "-j3", "--retries=2", "--", "-a", Self.url]) == .get(expected))
        #expect(try Command(["get", "--connections=1", "a"]) == .get(GetOptions(urls: ["a"], connections: 1)))
        #expect(try Command(["get", "-i", "-"]) == .get(GetOptions(inputFile: "-")))
        var trusting = GetOptions(urls: ["a"])
        (trusting.transport, trusting.authorities) = (.curl, "ca.pem")
        #expect(try Command(["get", "--ca-certificate=ca.pem", "--transport=curl", "a"]) == .get(trusting))
        #expect(try Command(["get", "-i-"]) == .get(GetOptions(inputFile: "-")))
        for words in [["-qo", "f"], ["-qof"]] {
            let quiet = GetOptions(urls: ["a"], output: "f", isQuiet: true)
            #expect(try Command(["get"] + words + ["a"]) == .get(quiet))
        }
        #expect(try Command(["get", Self.url, "-q"]) == .get(GetOptions(urls: [Self.url], isQuiet: true)))
    }

    @Test func readsValuesThatBeginWithAnAccent() throws {
        let name = "\u{301}a"
        var expected = GetOptions(urls: ["a"], output: name)
        expected.mirrors = [name]
        for words in [["-o" + name, "--mirror=" + name], ["-o", name, "--mirror", name]] {
            #expect(try Command(["get"] + words + ["a"]) == .get(expected))
        }
        #expect(throws: UsageError("there is no option “-\u{301}”; see lanner get --help")) {
            try Command(["get", "-\u{301}x"])
        }
    }

    @Test func readsTheOtherCommands() throws {
        #expect(try Command(["hash", "a", "-"]) == .hash(HashOptions(files: ["a", "-"])))
        #expect(
            try Command(["hash", "--algorithm", "SHA-1", "a"]) == .hash(HashOptions(algorithm: .sha1, files: ["a"])))
        let digest = try Checksum.Digest(parsing: Self.digest)
        #expect(try Command(["verify", Self.digest, "a"]) == .verify(VerifyOptions(digest: digest, file: "a")))
        #expect(try Command(["demo"]) == .demo)
        #expect(try Command(["--version"]) == .version)
    }

    @Test(arguments: Help.allCases) func helpsWithEveryCommand(_ topic: Help) throws {
        #expect(try Command(["help", topic.rawValue]) == .help(topic))
        if topic != .lanner {
            #expect(try Command([topic.rawValue, "--help"]) == .help(topic))
        }
        let lines = topic.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 24)
        #expect(lines.allSatisfy { Bar.columns(of: $0) <= 80 })
    }

    @Test func asksForHelp() throws {
        for word in ["help", "--help", "-h"] { #expect(try Command([word]) == .help(.lanner)) }
        #expect(try Command(["get", "-h"]) == .help(.get))
    }

    @Test(
        arguments: [
            ([], "a command is missing; see lanner --help"),
            (["fetch"], "“fetch” is no command; see lanner --help"),
            (["http://me:secret@a/b"], "“http://a/b” is no command; see lanner --help"),
            (["help", "fetch"], "“fetch” is no command; see lanner --help"),
            (["help", "http://me:secret@a/b"], "“http://a/b” is no command; see lanner --help"),
            (["demo", "http://me:secret@a/b"], "demo takes no argument, but there is “http://a/b”"),
            (["--version", "http://me:secret@a/b"], "--version takes no argument, but there is “http://a/b”"),
            (["help", "get", "hash"], "help is of one command, but there is also “hash”"),
            (["help", "--fast"], "there is no option “--fast”; see lanner --help"),
            (["--help", "get", "-x"], "there is no option “-x”; see lanner --help"),
            (["--version", "x"], "--version takes no argument, but there is “x”"),
            (["--version", "-x"], "--version takes no argument, but there is “-x”"),
            (["-x"], "there is no option “-x”; see lanner --help"),
            (["get"], "a URL is missing; see lanner get --help"),
            (["get", "--fast", url], "there is no option “--fast”; see lanner get --help"),
            (["get", "-y", url], "there is no option “-y”; see lanner get --help"),
            (["get", url, "-x", "17"], "-x needs a whole number from 1 to 16, not “17”"),
            (
                ["get", url, url, "--mirror", url],
                "--mirror is of one file; give exactly one URL with it, or a list by -i with mirror=URL lines"
            ),
            (["get", url, "-x0"], "-x needs a whole number from 1 to 16, not “0”"),
            (["get", url, "-o", "a", "-o", "a"], "-o is given twice; give it once"),
            (["get", url, "-da", "-d", "b"], "-d is given twice; give it once"),
            (["get", "-i", "a", "-i", "b"], "-i is given twice; give it once"),
            (["get", "-i", "-", "--header", "@-"], "standard input can be read once; give one of the lists as a file"),
            (["get", "--header", "@", "u"], "--header @FILE needs the name of a file"),
            (["get", url, "--checksum", digest, "--checksum=" + digest], "--checksum is given twice; give it once"),
            (["get", url, "-x1", "--connections", "2"], "--connections is given twice; give it once"),
            (["get", url, "-j", "1", "-j"], "-j is given twice; give it once"),
            (["get", url, "--limit-rate=1k", "--limit-rate=1m"], "--limit-rate is given twice; give it once"),
            (["hash", "--algorithm", "md5", "--algorithm", "md5", "a"], "--algorithm is given twice; give it once"),
            (["get", url, "-o"], "-o needs a FILE"),
            (["get", url, "--checksum"], "--checksum needs ALGO:HEX"),
            (
                ["get", url, "--checksum", "0a"],
                "--checksum needs ALGO:HEX; “0a” names none of md5, sha1, sha256, sha512"
            ),
            (
                ["get", url, "--checksum", "crc:0a"],
                "--checksum needs ALGO:HEX; there is no algorithm “crc”; there are md5, sha1, sha256, sha512"
            ),
            (["verify", "md5:0a", "a"], "verify needs ALGO:HEX; the HEX of md5 has 32 digits, this one 2"),
            (["get", url, "--json=yes"], "--json takes no value"),
            (["get", url, "-qx"], "-x needs a number"), (["get", url, "-q-json"], "-q takes no value"),
            (
                ["get", url, "--transport", "wget"],
                "there is no transport “wget”; there are auto, curl, urlsession"
            ),
            (
                ["get", url, "--transport", "urlsession", "--ca-certificate", "a"],
                "--ca-certificate is of the transport curl; URLSession trusts the system's"
            ),
            (["get", url, "--transport"], "--transport needs auto, curl or urlsession"),
            (["get", url, "-j", "0"], "-j needs a whole number from 1 to 256, not “0”"),
            (["get", url, "-j", "x"], "-j needs a whole number from 1 to 256, not “x”"),
            (["get", url, "-j="], "-j needs a whole number from 1 to 256, not “=”"),
            (["get", url, "--retries", "-1"], "--retries needs a whole number from 0 to 1000000, not “-1”"),
            (["get", url, "--retries="], "--retries needs a whole number from 0 to 1000000, not “”"),
            (["get", url, "--timeout", "1.5"], "--timeout needs a whole number from 1 to 86400, not “1.5”"),
            (
                ["get", url, "--timeout", "99999999999999999999"],
                "--timeout needs a whole number from 1 to 86400, not “99999999999999999999”"
            ),
            (
                ["get", url, "--priority", "urgent"],
                "there is no priority “urgent”; there are very-low, low, normal, high, very-high"
            ),
            (["get", url, "--limit-rate"], "--limit-rate needs BYTES[k|m|g]"),
            (["get", url, "--header", "secret"], "the header field has no colon; write 'NAME: VALUE'"),
            (
                ["get", url, "--header", "Authorization Bearer secret"],
                "the header field “Authorization” has no colon; write 'NAME: VALUE'"
            ),
            (
                ["get", url, "--header", "A: b\nC: d"],
                "The value of the header field A has a line break or another character that is not visible ASCII"
            ),
            (
                ["get", url, "--header", "A\r\nB: c"],
                "The header field name “A\\r\\nB” is not valid: use letters, digits and hyphens"
            ),
            (
                ["get", url, "--header", "Range: bytes=0-1"],
                "The header field Range cannot be set: ranges are asked for as the download needs them"
            ),
            (["get", url, "--header", "A: b", "--header", "a: c"], "the header field “a” is given twice"),
            (
                ["get", url, url + "b", "-o", "x"],
                "-o names one file; give exactly one URL with it, or a list by -i with out=NAME lines"
            ),
            (
                ["get", url, url + "b", "--checksum", digest],
                "--checksum is of one file; give exactly one URL with it, or a list by -i with checksum=ALGO:HEX lines"
            ),
            (["hash"], "a FILE is missing; - is standard input"),
            (
                ["hash", "--algorithm", "crc", "a"],
                "there is no algorithm “crc”; there are md5, sha1, sha256, sha512"
            ),
            (["verify", digest], "verify needs a checksum, ALGO:HEX, and one FILE"),
            (["verify", digest, "a", "b"], "verify needs a checksum, ALGO:HEX, and one FILE"),
            (["demo", "now"], "demo takes no argument, but there is “now”"),
        ] as [([String], String)])
    func refuses(_ words: [String], _ message: String) {
        #expect(throws: UsageError(message)) { try Command(words) }
    }

    @Test(
        arguments: [
            ("1", 1), ("100", 100), ("2k", 2048), ("2K", 2048), ("3m", 3 << 20), ("1G", 1 << 30), ("007", 7),
            ("9223372036854775807", .max), ("8589934591g", 8_589_934_591 << 30),
        ] as [(String, Int64)])
    func readsRates(_ text: String, _ rate: Int64) throws {
        #expect(try Command(["get", Self.url, "--limit-rate", text]) == .get(options { $0.rateLimit = rate }))
    }

    @Test(
        arguments: [
            "", "k", "0", "0m", "-1", "+1", "1.5m", "1 k", "10kb", "1t", "９", "9223372036854775808", "8589934592g",
            "x\n",
        ])
    func refusesRates(_ text: String) {
        let error = #expect(throws: UsageError.self) { try Command(["get", Self.url, "--limit-rate=\(text)"]) }
        #expect(error?.message.hasPrefix("--limit-rate needs a whole number of bytes a second, at least 1") == true)
        #expect(error?.message.contains { $0.isNewline } == false)
    }

    @Test(arguments: DownloadPriority.allCases) func readsPriorities(_ priority: DownloadPriority) throws {
        let words = ["get", "--priority", priority.word, Self.url]
        #expect(try Command(words) == .get(options { $0.priority = priority }))
    }

    private func options(_ change: (inout GetOptions) -> Void) -> GetOptions {
        var options = GetOptions(urls: [Self.url])
        change(&options)
        return options
    }

    @Test(arguments: ["sha256:0a", "sha256", "crc:00", "sha256:" + String(repeating: "x", count: 64), ":", "a\n:b"])
    func refusesChecksums(_ text: String) {
        for words in [["get", Self.url, "--checksum", text], ["verify", text, "file"]] {
            let error = #expect(throws: UsageError.self) { try Command(words) }
            #expect(error?.message.isEmpty == false)
            #expect(error?.message.contains { $0.isNewline } == false)
        }
    }
}
