/// A page of help; each fits 24 lines of 80 columns.
enum Help: String, Sendable, CaseIterable {
    case lanner, get, hash, verify, demo

    var text: String {
        switch self {
        case .lanner: Self.lannerText
        case .get: Self.getText
        case .hash: Self.hashText
        case .verify: Self.verifyText
        case .demo: Self.demoText
        }
    }

    private static let lannerText = """
        Usage: lanner COMMAND …

        Downloads files, survives being killed, resumes, verifies.

          get [options] URL…           download files
          hash [--algorithm A] FILE…   print checksums
          verify ALGO:HEX FILE         compare a file with a checksum
          demo                         show it all, without a network

          help [COMMAND]               this page, or that of a command
          -h, --help                   the same; after a command, its page
          --version                    the version

        Exit codes: 0 all well, 1 failed, 2 wrong usage, 3 checksum mismatch, 4 disk or
        file not usable; stopped by 129 SIGHUP, 130 SIGINT, 141 SIGPIPE, 143 SIGTERM.
        """

    private static let getText = """
        Usage: lanner get [options] URL…
        The same command again resumes, by .lanner beside the files, one call at a time;
        delete it to begin anew. Till all of a call is done, what is done of it stays as
        it is; else files and links are replaced, unless they match the checksum.
          -o FILE              save as FILE (one URL only), in DIR unless absolute
          -d DIR               save in DIR, made when missing; default: here
          -i FILE|-            read URLs, one a line (# comments); indented below may be
                               out=NAME, checksum=ALGO:HEX, mirror=URL, priority=P
          --checksum ALGO:HEX  md5, sha1, sha256 or sha512 of the file (one URL only)
          --no-server-digests  ignore digests that servers give
          --mirror URL         another place that has it (one URL only); may be repeated
          -j N, -x|--connections N  downloads at once, 4; parts of each, if sent, 4
          --header 'K: V'|@FILE  sent for each URL till all is done; repeatable, K once
          --retries N, --timeout S  retries without progress, 5; seconds of silence, 60
          --limit-rate N[k|m|g]  bytes a second at most, of all together
          --priority P         very-low, low, normal, high or very-high: who is next
          --transport T        auto: curl where it is; curl; urlsession (decodes; no -x)
          --ca-certificate FILE  trust only these authorities (PEM); else CURL_CA_BUNDLE
          --json  one object a line on stdout: event, url, file, bytes, total, speed;
                  event is start, progress, suspended, restarted (code), done or skipped
                  (verified), retrying (code, detail, delay), failed (code, detail)
          -q  say nothing but errors and --json lines;  --adopt  trust a copied .lanner
        Exit codes: 0 done, 2 usage, 129 SIGHUP, 130 SIGINT, 141 SIGPIPE, 143 SIGTERM;
        of several failures the first of these: 4 disk, 3 checksum mismatch, 1 other.
        """

    private static let hashText = """
        Usage: lanner hash [--algorithm A] FILE…
        Prints a line HEX  NAME for each file, as sha256sum does.

          FILE           - is standard input
          --algorithm A  md5, sha1, sha256 or sha512; default sha256

        Exit codes: 0 all read, 1 a file not read or its line not written, 2 usage.
        """

    private static let verifyText = """
        Usage: lanner verify ALGO:HEX FILE
        Compares a file with a checksum. ALGO is md5, sha1, sha256 or sha512;
        FILE may be - for standard input.

        Exit codes: 0 it matches, 1 the answer cannot be written, 2 usage,
        3 it does not match, 4 it cannot be read.
        """

    private static let demoText = """
        Usage: lanner demo
        Starts a server on 127.0.0.1 and downloads from it into a temporary directory:
        suspends and resumes a download, has the server cut a connection, and verifies
        every file by SHA-256. Takes a few seconds and leaves nothing behind.

        Exit codes: 0 all was right, 1 something was not, 2 usage, 129 SIGHUP,
        130 SIGINT, 143 SIGTERM.
        """
}

extension UsageError {
    static func unknown(option: String, see topic: Help) -> UsageError {
        let command = topic == .lanner ? "lanner" : "lanner \(topic.rawValue)"
        return UsageError("there is no option \(option.quotedArgument); see \(command) --help")
    }
}
