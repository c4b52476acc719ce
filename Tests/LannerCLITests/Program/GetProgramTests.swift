#if os(macOS) || os(Linux)
import Foundation
import Lanner
import LannerLoopback
import ProgramSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct GetProgramTests {
    let server: LoopbackServer
    let place: Workplace
    let small = LoopbackServer.Resource(.generated(seed: 1, length: 100_000))

    init() throws {
        server = try LoopbackServer()
        place = try Workplace()
        server.put("small.bin", small)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    private func checksum(_ resource: LoopbackServer.Resource) throws -> String {
        var hasher = Checksum.Algorithm.sha256.makeHasher()
        resource.forEachPiece { hasher.update($0) }
        return try Checksum.Digest(algorithm: .sha256, bytes: hasher.digest()).description
    }

    // MARK: All goes well

    @Test func downloadsAndLeavesNothingElse() async throws {
        let result = try await Program.run(["get", url("small.bin")], in: place)
        #expect(result.code == 0)
        #expect(result.output.isEmpty)
        // One that takes longer tells of its progress between the two.
        #expect(result.errors.first == "small.bin: begins" && result.errors.last == "small.bin: done, 100 kB")
        #expect(place.names == ["small.bin"])
        #expect(place.bytes("small.bin") == small.bytes)
    }

    @Test func savesWhereItIsTold() async throws {
        let get = try await Program.run(["get", "-q", "-d", "a/b", "-o", "c/x y", url("small.bin")], in: place)
        #expect(get.code == 0)
        #expect(get.errors.isEmpty)
        #expect(place.bytes("a/b/c/x y") == small.bytes)
        #expect(place.names == ["a"])
    }

    @Test func keepsALimit() async throws {
        let large = LoopbackServer.Resource(.generated(seed: 2, length: 8 << 20))
        server.put("large.bin", large)
        let begun = ContinuousClock.now
        let words = ["get", "-q", "--limit-rate", "2m", "--priority", "high", url("large.bin")]
        let get = try await Program.run(words, in: place)
        #expect(get.code == 0 && get.errors.isEmpty)
        #expect(place.bytes("large.bin") == large.bytes)
        // Four seconds, less what may have been on its way; on a slow machine more.
        #expect(ContinuousClock.now - begun >= .seconds(2))
    }

    @Test func replacesAnOlderFile() async throws {
        try place.write([1, 2, 3], to: "small.bin")
        let path = place.url.appendingPathComponent("small.bin").path
        #expect(chmod(path, 0o600) == 0)
        let get = try await Program.run(["get", url("small.bin")], in: place)
        #expect(get.code == 0)
        #expect(place.bytes("small.bin") == small.bytes)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    /// Somebody has made room, and left a link.
    @Test func leavesALinkToAFileThatIsRight() async throws {
        try place.write(small.bytes, to: "file")
        let link = place.url.appendingPathComponent("small.bin").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "file")
        let words = ["get", "--json", "--checksum", try checksum(small), url("small.bin")]
        let get = try await Program.run(words, in: place)
        let events = try get.output.map(Event.init)
        #expect(get.code == 0 && events.map(\.event) == ["skipped"] && events.map(\.bytes) == [100_000])
        #expect(server.requests.isEmpty)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "file")
    }

    /// It stays where an earlier call has brought it, and may be another by now: nobody has compared it.
    @Test func callsNoFileVerifiedThatNobodyHasCompared() async throws {
        let list = "\(url("small.bin"))\n checksum=\(try checksum(small))\n\(url("none"))"
        #expect(try await Program.run(["get", "-q", "-i", "-"], in: place, input: list).code == 1)
        let get = try await Program.run(["get", "--json", url("small.bin"), url("none")], in: place)
        let events = try get.output.map(Event.init).filter { $0.event == "skipped" }
        #expect(events.map(\.verified) == [false])
    }

    /// What a call has made for a file that did not come is not left behind; what others have made is.
    @Test func leavesNoDirectoryWithoutAFile() async throws {
        let made = place.url.appendingPathComponent("made")
        try FileManager.default.createDirectory(at: made, withIntermediateDirectories: false)
        #expect(try await Program.run(["get", "-qd", "made/a/b", url("none")], in: place).code == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: made.path).isEmpty)
        #expect(try await Program.run(["get", "-qd", "made/a/b", url("small.bin")], in: place).code == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: made.path + "/a/b") == ["small.bin"])
    }

    @Test func refusesADirectoryThatIsAFile() async throws {
        try place.write([1], to: "file")
        let get = try await Program.run(["get", "-qd", "file", url("small.bin")], in: place)
        #expect(get.code == 4 && get.errors.count == 1)
        #expect(get.errors.first?.contains("file is no directory; move it away, or choose another") == true)
    }

    @Test(arguments: [["ftp://a/b"], ["--bogus"], ["-i", "none"], ["http://a/b", "http://a/b"]])
    func tellsProgramsWhatWasNotUnderstood(_ words: [String]) async throws {
        let get = try await Program.run(["get", "--json"] + words, in: place)
        #expect(get.code == 2 && get.errors.count == 1 && get.output.count == 1)
        #expect(get.output.first?.contains("\"code\":\"usage\"") == true, "\(get.output)")
    }

    /// A link stands for a directory that ignores case.
    @Test func refusesTwoNamesThatTheDirectoryTakesForOne() async throws {
        let state = place.url.appendingPathComponent(".lanner").path
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        let other = place.url.appendingPathComponent(".LANNER").path
        try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: ".lanner")
        let get = try await Program.run(["get", "-q", url("small.bin"), url("Small.bin")], in: place)
        #expect(get.code == 2 && get.errors.count == 1 && server.requests.isEmpty)
        #expect(get.errors.first?.contains("takes large and small letters for the same; name one by out=NAME") == true)
        #expect(try await Program.run(["get", "-q", url("small.bin")], in: place).code == 0)
    }

    /// As the shell and the kernel read it: no file URL does.
    @Test func readsTheFileThatIsNamed() async throws {
        let links = place.url.appendingPathComponent("below/there")
        try FileManager.default.createDirectory(at: links, withIntermediateDirectories: true)
        let link = place.url.appendingPathComponent("link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "below/there")
        try place.write(Array(url("small.bin").utf8), to: "below/list")
        try place.write(Array(url("small.bin").utf8), to: "~list")
        for name in ["link/../list", "~list"] {
            #expect(try await Program.run(["get", "-q", "-i", name], in: place).code == 0)
        }
    }

    @Test func leavesAFileThatIsRight() async throws {
        try place.write(small.bytes, to: "small.bin")
        let words = ["get", "--json", "--checksum", try checksum(small), url("small.bin")]
        let get = try await Program.run(words, in: place)
        #expect(get.code == 0)
        let events = try get.output.map(Event.init)
        #expect(events.map(\.event) == ["skipped"])
        #expect(events.first?.verified == true)
        #expect(server.requests.isEmpty)
        #expect(place.names == ["small.bin"])
    }

    @Test func readsAListFromAFileAndFromStandardInput() async throws {
        server.put("b", LoopbackServer.Resource([7, 8, 9]))
        let list = """
            # two files
            \(url("small.bin"))
              out=one.bin
              checksum=\(try checksum(small))
            \(url("b"))
            """
        try place.write(list.utf8, to: "list.txt")
        let fromFile = try await Program.run(["get", "-j1", "-d", "f", "--json", "-i", "list.txt"], in: place)
        #expect(fromFile.code == 0)
        let done = try fromFile.output.map(Event.init).filter { $0.event == "done" }
        #expect(done.map(\.file) == ["f/one.bin", "f/b"])
        #expect(done.map(\.verified) == [true, false])
        #expect(place.bytes("f/one.bin") == small.bytes)
        let fromInput = try await Program.run(["get", "-q", "-d", "i", "-i", "-"], in: place, input: list)
        #expect(fromInput.code == 0)
        #expect(place.bytes("i/b") == [7, 8, 9])
        #expect(place.names == ["f", "i", "list.txt"])
    }

    @Test func aListGivesPriorities() async throws {
        let names = ["a", "b", "c"]
        for name in names { server.put(name, LoopbackServer.Resource([1])) }
        let list = "\(url("a"))\n priority=low\n\(url("b"))\n\(url("c"))\n priority=high\n"
        let get = try await Program.run(["get", "-q", "-j1", "-i", "-"], in: place, input: list)
        #expect(get.code == 0)
        #expect(server.requests.map(\.path) == ["/c", "/b", "/a"])
    }

    @Test func sendsHeaderFields() async throws {
        let get = try await Program.run(["get", "-q", "--header", "X-Key: a b", url("small.bin")], in: place)
        #expect(get.code == 0)
        #expect(server.requests.first?.fields["X-Key"] == "a b")
    }

    @Test func givesUpAServerThatIsSilentForAsLongAsItIsTold() async throws {
        server.always("small.bin", .hold)
        let words = ["get", "-q", "--timeout", "1", "--retries", "0", url("small.bin")]
        let get = try await Program.run(words, in: place)
        #expect(get.code == 1)
        #expect(get.errors.last?.contains(" sent nothing for 1 second") == true)
    }

    /// What was fast a moment ago is not shown to be so for ever.
    @Test func tellsOfAStall() async throws {
        server.put("large.bin", .init(.generated(seed: 2, length: 40 * Self.mebibyte)))
        server.always("large.bin", .stall(afterBytes: Self.mebibyte))
        // One that is not told ends by itself.
        let words = ["get", "--json", "--timeout", "20", "--retries", "0", "-x", "1", url("large.bin")]
        let get = try Program(words, in: place)
        let hasStalled = { (event: Event) in event.event == "progress" && event.bytes > 0 && event.speed == 0 }
        #expect(await get.output.first { (try? Event($0)).map(hasStalled) ?? false } != nil)
        get.send(SIGINT)
        let events = try await get.result().output.map(Event.init)
        let stalled = try #require(events.firstIndex(where: hasStalled))
        #expect(events[..<stalled].contains { $0.bytes == events[stalled].bytes && $0.speed > 0 })
        #expect(events.last?.event == "suspended")
    }

    // MARK: Stopped and run again

    typealias EntityTag = LoopbackServer.Resource.EntityTag
    private static let mebibyte: Int64 = 1 << 20

    /// A file of which so much is sent and no more, so that no download of it can end: over libcurl it is asked for in
    /// one piece, over URLSession in several. What waits does not give up, and has one connection (`patient`).
    private func putLarge(sending mebibytes: Int64, over transport: String) -> LoopbackServer.Resource {
        // Three requests over URLSession are for 32 MiB each at most, and the first for 4.
        let length = (transport == "curl" ? 40 : 80) * Self.mebibyte
        let large = LoopbackServer.Resource(.generated(seed: 2, length: length))
        server.put("large.bin", large)
        if transport == "curl" {
            server.always("large.bin", .stall(afterBytes: mebibytes * Self.mebibyte))
        } else {
            server.script("large.bin", Array(repeating: .pass, count: Int(mebibytes / 8)))
            server.always("large.bin", .hold)
        }
        return large
    }

    private static let patient = ["--timeout", "3600", "-x", "1"]

    /// Bytes of bodies sent in answer to the requests that have a field of this value.
    private func bytesSent(toRun name: String) -> Int64 {
        server.requests("large.bin").filter { $0.fields["X-Run"] == name }.reduce(0) { $0 + $1.bodyBytesSent }
    }

    @Test(arguments: ["curl", "urlsession"]) func goesOnAfterItsDeath(_ transport: String) async throws {
        let large = putLarge(sending: 24, over: transport)
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        server.onRequest { if $0.path == "/small.bin" { gate.wait() } }
        let words = ["get", "--json", "--transport", transport, url("large.bin"), url("small.bin")] + Self.patient
        let killed = try Program(words + ["--header", "X-Run: 1"], in: place)
        // Three requests over URLSession are for 4 MiB each, or more.
        let least = (transport == "curl" ? 16 : 12) * Self.mebibyte
        let isFarEnough = { (event: Event) in event.event == "progress" && event.bytes >= least }
        #expect(await killed.output.first { (try? Event($0)).map(isFarEnough) ?? false } != nil)
        try await server.waitForStalls(1)
        // Its end is told once it is recorded, and so is what was to be recorded before.
        gate.signal()
        let isSmall = { (event: Event) in event.event == "done" && event.file == "small.bin" }
        #expect(await killed.output.first { (try? Event($0)).map(isSmall) ?? false } != nil)
        killed.send(SIGKILL)
        #expect(await killed.result().code == -SIGKILL)
        #expect(place.names == [".lanner", "small.bin"])

        server.clearScript("large.bin")
        let get = try await Program.run(words + ["--header", "X-Run: 2"], in: place)
        #expect(get.code == 0)
        let events = try get.output.map(Event.init)
        #expect(events.first?.event == "skipped")
        let start = try #require(events.first { $0.event == "start" })
        // Of what was told, less than 8 MiB is not on record.
        #expect(start.bytes > least - 8 * Self.mebibyte)
        #expect(start.bytes <= bytesSent(toRun: "1"))
        #expect(bytesSent(toRun: "2") == large.length - start.bytes)
        #expect(place.bytes("large.bin") == large.bytes)
        #expect(place.names == ["large.bin", "small.bin"])
    }

    @Test(
        arguments: [
            (SIGINT, "curl"), (SIGTERM, "curl"), (SIGHUP, "curl"), (SIGINT, "urlsession"),
        ] as [(Int32, String)])
    func keepsTheBytesAtASignal(_ signal: Int32, _ transport: String) async throws {
        let large = putLarge(sending: 16, over: transport)
        let words =
            ["get", "--json", "--checksum", try checksum(large), "--transport", transport, url("large.bin")]
            + Self.patient
        let stopped = try Program(words + ["--header", "X-Run: 1"], in: place)
        // What was sent is on its way, most of it received.
        try await server.waitForStalls(1)
        stopped.send(signal)
        let result = await stopped.result()
        // It has died by it, as a loop of the shell that is to end with it has to see.
        #expect(result.code == -signal)
        let last = try #require(try result.output.last.map(Event.init))
        #expect(last.event == "suspended")
        #expect(last.bytes > 0)
        #expect(last.bytes <= bytesSent(toRun: "1"))

        server.clearScript("large.bin")
        let get = try await Program.run(words + ["--header", "X-Run: 2"], in: place)
        #expect(get.code == 0)
        #expect(try get.output.first.map(Event.init)?.bytes == last.bytes)
        #expect(bytesSent(toRun: "2") == large.length - last.bytes)
        #expect(place.bytes("large.bin") == large.bytes)
        #expect(place.names == ["large.bin"])
    }

    /// It is no crash to be looked at.
    @Test func isQuitAtOnce() async throws {
        _ = putLarge(sending: 16, over: "curl")
        let get = try Program(["get", "-q", "--transport", "curl", url("large.bin")] + Self.patient, in: place)
        try await server.waitForStalls(1)
        get.send(SIGQUIT)
        let result = await get.result()
        #expect(result.code == -SIGQUIT && result.errors.isEmpty)
    }

    @Test func saysWhatLiesWhereItsStateBelongs() async throws {
        try place.write([1], to: ".lanner")
        let get = try await Program.run(["get", "-q", url("small.bin")], in: place)
        #expect(get.code == 4)
        #expect(get.errors.contains { $0.contains("is no directory; move it away") })
        #expect(place.bytes(".lanner") == [1])
    }

    /// The wrong one was that of an earlier call; the bytes are good, and its header fields stay.
    @Test func aChecksumThatIsLeftOutCountsNoMore() async throws {
        let large = putLarge(sending: 16, over: "curl")
        let words = ["get", "--json", "--transport", "curl", url("large.bin")] + Self.patient
        let wrong = ["--checksum", "md5:" + String(repeating: "0", count: 32), "--header", "X-Run: 1"]
        let stopped = try Program(words + wrong, in: place)
        try await server.waitForStalls(1)
        stopped.send(SIGINT)
        let last = try #require(try await stopped.result().output.last.map(Event.init))
        #expect(last.event == "suspended" && last.bytes > 0)

        server.clearScript("large.bin")
        let before = server.requests("large.bin").count
        let get = try await Program.run(words, in: place)
        #expect(get.code == 0)
        #expect(try get.output.first.map(Event.init)?.bytes == last.bytes)
        let requests = server.requests("large.bin").dropFirst(before)
        #expect(requests.allSatisfy { $0.fields["X-Run"] == "1" })
        #expect(requests.reduce(0) { $0 + $1.bodyBytesSent } == large.length - last.bytes)
        #expect(place.bytes("large.bin") == large.bytes)
        #expect(place.names == ["large.bin"])
    }

    /// Of the same size, under the same name.
    @Test func aFileThatAnotherURLHasBroughtIsNotThere() async throws {
        let other = LoopbackServer.Resource(.generated(seed: 2, length: 100_000))
        server.put("other.bin", other)
        // The second one is why the first is remembered.
        let words = ["get", "-q", url("small.bin"), url("missing.bin")]
        #expect(try await Program.run(words, in: place).code == 1)
        #expect(try await Program.run(["get", "-q", "-o", "small.bin", url("other.bin")], in: place).code == 0)
        #expect(place.bytes("small.bin") == other.bytes)
        #expect(try await Program.run(words, in: place).code == 1)
        #expect(place.bytes("small.bin") == small.bytes)
        #expect(try await Program.run(words, in: place).code == 1)
        #expect(server.requests("small.bin").count == 2)
    }

    @Test func namesTheOptionForAServerWhoseDigestsAreWrong() async throws {
        let digest = Data(repeating: 0, count: 16).base64EncodedString()
        server.put("wrong.bin", .init(small.bytes, fields: ["Content-MD5": digest]))
        let get = try await Program.run(["get", "-q", url("wrong.bin")], in: place)
        #expect(get.code == 3)
        #expect(
            get.errors.first?.hasSuffix(
                " that the server gives; download again, or leave such digests out by --no-server-digests") == true)
        #expect(try await Program.run(["get", "-q", "--no-server-digests", url("wrong.bin")], in: place).code == 0)
    }

    @Test func saysWhatALimitIsWorthOverURLSession() async throws {
        let words = ["get", "--limit-rate", "1g", "--transport", "urlsession", url("small.bin")]
        let get = try await Program.run(words, in: place)
        #expect(get.code == 0)
        #expect(get.errors.first?.hasPrefix("lanner: over URLSession --limit-rate ") == true)
        #expect(try await Program.run(words + ["-q"], in: place).errors.isEmpty)
    }

    @Test func certificatesThatCanBeReadOnceAreNone() async throws {
        let words = ["get", "--ca-certificate", "/dev/stdin", url("small.bin")]
        let get = try await Program.run(words, in: place, input: "-----BEGIN CERTIFICATE-----")
        #expect(get.code == 2)
        #expect(
            get.errors == ["lanner: the certificates “/dev/stdin” are not in a file; save them as one"])
    }

    /// A call that is interrupted when nothing comes any more.
    private func stop(_ words: [String]) async throws {
        let stopped = try Program(words + Self.patient, in: place)
        try await server.waitForStalls(1)
        stopped.send(SIGINT)
        #expect(await stopped.result().code == -SIGINT)
    }

    @Test func saysWhatWasDamagedOfItsRecords() async throws {
        let large = putLarge(sending: 16, over: "curl")
        let words = ["get", "-q", "--transport", "curl", url("large.bin")]
        try await stop(words)

        let state = try FileManager.default.contentsOfDirectory(atPath: place.url.path + "/.lanner")
        let journal = try #require(state.first { $0.hasPrefix("journal-") })
        var bytes = try #require(place.bytes(".lanner/" + journal))
        for index in stride(from: 40, to: bytes.count, by: 17) { bytes[index] ^= 0xFF }
        try place.write(bytes, to: ".lanner/" + journal)
        server.always("large.bin", nil)
        let get = try await Program.run(words, in: place)
        #expect(get.code == 0)
        let end = " What was not finished may begin anew; what was set aside may be removed."
        #expect(get.errors.allSatisfy { $0.hasSuffix(end) })
        #expect(get.errors.contains { $0.contains("\(journal) in ") && $0.contains("corrupt-1.bin") })
        #expect(place.bytes("large.bin") == large.bytes)
    }

    @Test func leavesNoPartOfAFileThatIsRight() async throws {
        let large = putLarge(sending: 16, over: "curl")
        let words = ["get", "--json", "--transport", "curl", "--checksum", try checksum(large), url("large.bin")]
        try await stop(words)
        #expect(place.names == [".lanner"])

        try place.write(large.bytes, to: "large.bin")
        let get = try await Program.run(words, in: place)
        #expect(get.code == 0)
        #expect(try get.output.map(Event.init).map(\.event) == ["skipped"])
        #expect(place.names == ["large.bin"])
        #expect(place.bytes("large.bin") == large.bytes)
    }

    @Test func endsAtASignalWhileNothingComes() async throws {
        server.script("small.bin", [.hold])
        let held = try Program(["get", url("small.bin")], in: place)
        try await server.waitForStalls(1)
        held.send(SIGTERM)
        let result = await held.result()
        #expect(result.code == -SIGTERM)
        #expect(result.errors.last == "Stopped. The same command goes on from there.")
        #expect(place.names.isEmpty, "what was to be sent is nobody's to keep")
    }

    /// Without a validator nobody knows next time whether the rest is of the same file.
    @Test(arguments: [nil, .strong("1")] as [EntityTag?])
    func promisesNothingThatCannotBeKept(_ tag: EntityTag?) async throws {
        var large = putLarge(sending: 16, over: "curl")
        large.entityTag = tag
        server.put("large.bin", large)
        let words = ["get", "--transport", "curl", url("large.bin")]
        let stopped = try Program(words + Self.patient, in: place)
        try await server.waitForStalls(1)
        stopped.send(SIGINT)
        let lines = await stopped.result().errors.suffix(2)
        let (stop, parting) = (try #require(lines.first), try #require(lines.last))
        #expect(stop.hasPrefix("large.bin: stopped at ") && stop.hasSuffix(", and has to begin anew") == (tag == nil))
        let next = tag == nil ? "begins anew." : "goes on from there."
        #expect(parting == "Stopped. The same command " + next)
        #expect(place.names.isEmpty == (tag == nil), "nobody goes on from what is left")

        server.clearScript("large.bin")
        #expect(try await Program.run(words + ["-q", "--header", "X-Run: 2"], in: place).code == 0)
        #expect((bytesSent(toRun: "2") == large.length) == (tag == nil))
        #expect(place.bytes("large.bin") == large.bytes)
    }

    @Test(arguments: [(nil, true), (.strong("1"), true), (.strong("1"), false)] as [(EntityTag?, Bool)])
    func advisesOnlyWhatHelps(_ tag: EntityTag?, sendsParts: Bool) async throws {
        var large = LoopbackServer.Resource(.generated(seed: 2, length: 4 * Self.mebibyte), entityTag: tag)
        large.acceptsRanges = sendsParts
        server.put("large.bin", large)
        server.always("large.bin", .cut(afterBytes: 1_000_000))
        let get = try await Program.run(["get", "-q", "--retries", "0", "-x", "1", url("large.bin")], in: place)
        let end = tag == nil || !sendsParts ? "to begin anew" : "to go on"
        #expect(get.code == 1 && get.errors.last?.hasSuffix("; run the same command again \(end)") == true)
    }

    /// Also where only the end is told.
    @Test(arguments: [[], ["-q"]]) func keepsNothingThatHasToBeginAnew(_ quiet: [String]) async throws {
        var whole = LoopbackServer.Resource(.generated(seed: 2, length: 4 * Self.mebibyte), entityTag: .strong("1"))
        (whole.acceptsRanges, whole.fields) = (false, ["Accept-Ranges": "bytes"])
        server.put("large.bin", whole)
        server.always("large.bin", .cut(afterBytes: 1_000_000))
        let get = try await Program.run(
            ["get", "--transport", "curl", "--retries", "1", "-x", "1", url("large.bin")] + quiet, in: place)
        #expect(get.code == 1 && get.errors.last?.hasSuffix("; run the same command again to begin anew") == true)
        #expect(place.names.isEmpty)
    }

    /// What was taken for bytes of the file may have been framing: a chunk has fewer bytes here than it says.
    @Test func takesNoBytesOfAnAnswerWhoseFramingBreaksOff() async throws {
        let file = LoopbackServer.Resource(.generated(seed: 2, length: 400_000), entityTag: .strong("1"))
        server.put("file.bin", file)
        let bytes = file.bytes
        var answer = Array("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        for (size, range) in [("10000", 0..<65_536), ("10064", 65_536..<131_072), ("10000", 131_072..<196_608)] {
            answer += Array("\(size)\r\n".utf8) + bytes[range] + Array("\r\n".utf8)
        }
        server.script("file.bin", [.raw(answer)])
        let get = try await Program.run(["get", "--transport", "curl", "-q", url("file.bin")], in: place)
        #expect(get.code == 0 && server.requests.count == 2)
        #expect(place.bytes("file.bin") == bytes)
    }

    /// What comes in the place of the rest is a whole, which does not say that no others come.
    @Test func promisesNothingOfWhoHasSentTheWholeForAPart() async throws {
        let large = putLarge(sending: 16, over: "curl")
        let words = ["get", "--transport", "curl", url("large.bin")] + Self.patient
        let stopped = try Program(words, in: place)
        try await server.waitForStalls(1)
        stopped.send(SIGINT)
        #expect(await stopped.result().errors.last?.hasSuffix("goes on from there.") == true)
        var whole = large
        (whole.acceptsRanges, whole.fields) = (false, ["Accept-Ranges": "bytes"])
        server.put("large.bin", whole)
        let again = try Program(words, in: place)
        try await server.waitForStalls(2)
        again.send(SIGINT)
        #expect(await again.result().errors.last == "Stopped. The same command begins anew.")
    }

    /// "Lanner", by gzip.
    private static let encoded: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 243, 73, 204, 203, 75, 45, 2, 0, 161, 220, 59, 82, 6, 0, 0, 0,
    ]

    /// What is stored so, as servers that take an archive for an encoding send it.
    @Test(arguments: ["curl", "urlsession"]) func tellsOfWhatIsDecoded(transport: String) async throws {
        server.put("a.tgz", .init(Self.encoded, fields: ["Content-Encoding": "gzip"]))
        let get = try await Program.run(["get", "--transport", transport, url("a.tgz")], in: place)
        #expect(get.code == 0)
        let isDecoded = place.bytes("a.tgz") == Array("Lanner".utf8)
        #expect(isDecoded || place.bytes("a.tgz") == Self.encoded)
        #expect(isDecoded == (transport == "urlsession"))
        let words = "a.tgz: the server sends it as gzip, which URLSession decodes"
        #expect(get.errors.contains { $0.hasPrefix(words) } == isDecoded)
    }

    @Test func keepsToTheFilesThatMayBeOpen() async throws {
        let names = (0..<400).map { "\($0).bin" }
        for name in names { server.put(name, small) }
        let list = names.map(url).joined(separator: "\n")
        let get = try await Program.run(
            ["get", "-q", "-j", "16", "-i", "-"], in: place, input: list, script: #"ulimit -n 64 && exec "$0" "$@""#)
        #expect(get.code == 0 && get.errors.isEmpty)
        #expect(place.names == names.sorted())
    }

    @Test func downloadsOfAListOnlyWhatIsMissing() async throws {
        let words = ["get", "--json", "--retries", "0", url("small.bin"), url("late")]
        #expect(try await Program.run(words, in: place).code == 1)
        #expect(place.names == [".lanner", "small.bin"])
        server.put("late", LoopbackServer.Resource([1]))
        let again = try await Program.run(words, in: place)
        #expect(again.code == 0)
        let events = try again.output.map(Event.init).map(\.event)
        // One that takes longer tells of its progress.
        #expect(events.filter { $0 != "progress" } == ["skipped", "start", "done"])
        #expect(server.requests("small.bin").count == 1)
        #expect(place.names == ["late", "small.bin"])
    }

    @Test func downloadsAgainWhatIsGone() async throws {
        let words = ["get", "-q", "--retries", "0", url("small.bin"), url("late")]
        #expect(try await Program.run(words, in: place).code == 1)
        try place.write([1], to: "small.bin")
        #expect(try await Program.run(words, in: place).code == 1)
        #expect(place.bytes("small.bin") == small.bytes)
    }

    /// To the same size, in the file itself or by another in its place. A file with other permissions is still the same.
    @Test func downloadsAgainWhatWasChanged() async throws {
        let words = ["get", "-q", "--retries", "0", url("small.bin"), url("late")]
        #expect(try await Program.run(words, in: place).code == 1)
        let (other, file) = (small.bytes.map { ~$0 }, place.url.appendingPathComponent("small.bin").path)
        try place.write(other, to: "other")
        let changes: [(Int, () throws -> Void)] = [
            (1, { #expect(chmod(file, 0o600) == 0) }),
            (2, { #expect(rename(file.directory + "/other", file) == 0) }),
            (3, { try FileHandle(forWritingTo: URL(fileURLWithPath: file)).write(contentsOf: other) }),
        ]
        for (requests, change) in changes {
            try change()
            #expect(try await Program.run(words, in: place).code == 1)
            #expect(place.bytes("small.bin") == small.bytes)
            #expect(server.requests("small.bin").count == requests)
        }
    }

    // MARK: Failures

    /// Nor the directories that were made for it.
    @Test(arguments: ["ulimit -n 9", "ulimit -f 0"]) func leavesNothingWhereItCannotBegin(_ limit: String) async throws
    {
        let words = ["get", "-q", "-d", "new/deep", url("small.bin")]
        let get = try await Program.run(words, in: place, script: #"trap '' XFSZ; \#(limit) && exec "$0" "$@""#)
        #expect(get.code == 4 && get.errors.count == 1, "\(get.errors)")
        #expect(place.names == [])
    }

    @Test func saysWhichDirectoryCannotBe() async throws {
        try place.write([1], to: "file")
        let below = try await Program.run(["get", "-q", "-d", "file/a/b", url("small.bin")], in: place)
        #expect(below.errors.first?.contains(": file is no directory; move it away, or choose another") == true)
        let gone = try await Program.run(
            ["get", "-q", url("small.bin")], in: place, script: #"mkdir gone; cd gone; rmdir ../gone; exec "$0" "$@""#)
        #expect(gone.errors.first?.hasSuffix("; choose another directory by -d") == true, "\(gone.errors)")
        let state = place.url.appendingPathComponent(".lanner").path
        try FileManager.default.createSymbolicLink(atPath: state, withDestinationPath: "nowhere")
        let link = try await Program.run(["get", "-q", url("small.bin")], in: place)
        #expect(link.errors.first?.hasSuffix("is a link that leads nowhere; remove it") == true, "\(link.errors)")
        #expect([below, gone, link].allSatisfy { $0.code == 4 && $0.errors.count == 1 } && server.requests.isEmpty)
    }

    @Test func tellsAStatus() async throws {
        let get = try await Program.run(["get", url("none")], in: place)
        #expect(get.code == 1)
        #expect(get.errors.last == "lanner: \(url("none")): the server answered with status 404; check the URL")
        #expect(place.names.isEmpty)
    }

    @Test func triesAgainAsOftenAsItIsTold() async throws {
        server.always("small.bin", .status(503))
        let get = try await Program.run(["get", "--json", "--retries", "1", url("small.bin")], in: place)
        #expect(get.code == 1)
        let events = try get.output.map(Event.init)
        #expect(events.map(\.event) == ["start", "retrying", "failed"])
        #expect(events.last?.code == "status.503")
        #expect(server.requests("small.bin").count == 2)
    }

    @Test func publishesNoFileWithAnotherChecksum() async throws {
        server.put("other", LoopbackServer.Resource([1, 2, 3]))
        let words = ["get", "-q", "--checksum", try checksum(small), url("other")]
        let get = try await Program.run(words, in: place)
        #expect(get.code == 3)
        #expect(get.errors.count == 1)
        #expect(get.errors.first?.hasPrefix("lanner: \(url("other")): ") == true)
        #expect(place.names.isEmpty)
    }

    @Test func tellsTheWorstOfSeveralFailures() async throws {
        let list = """
            \(url("none"))
            \(url("small.bin"))
              checksum=md5:\(String(repeating: "0", count: 32))
            """
        let get = try await Program.run(["get", "-q", "-i", "-"], in: place, input: list)
        #expect(get.code == 3)
        #expect(get.errors.count == 2)
    }

    /// Whoever has made it could read what is sent, and change what comes.
    @Test(.enabled(if: geteuid() == 0)) func refusesTheStateOfAnotherUser() async throws {
        let state = place.url.appendingPathComponent(".lanner").path
        #expect(mkdir(state, 0o755) == 0 && chown(state, 12345, 12345) == 0)
        let get = try await Program.run(["get", "-q", url("small.bin")], in: place)
        #expect(get.code == 4 && server.requests.isEmpty)
        let advice = "remove it, or choose another directory by -d"
        #expect(get.errors == ["lanner: .lanner is another user's; \(advice)"])
        // Nor that of the one to whom the directory belongs: he can read what is in it.
        #expect(chown(place.url.path, 12345, 12345) == 0)
        #expect(try await Program.run(["get", "-q", url("small.bin")], in: place).code == 4)
    }

    /// Its permissions are those of a directory that others use.
    @Test(.enabled(if: geteuid() == 0)) func leavesWhatALinkOfAnotherUserLeadsTo() async throws {
        let shared = place.url.appendingPathComponent("shared").path
        let state = place.url.appendingPathComponent(".lanner").path
        #expect(mkdir(shared, 0o700) == 0 && chmod(shared, 0o1777) == 0)
        #expect(symlink("shared", state) == 0 && lchown(state, 12345, 12345) == 0)
        #expect(try await Program.run(["get", "-q", url("small.bin")], in: place).code == 4)
        // One's own link is followed, and what it leads to stays as it is, too.
        #expect(lchown(state, 0, 0) == 0)
        #expect(try await Program.run(["get", "-q", url("small.bin"), url("none")], in: place).code == 1)
        var status = stat()
        #expect(stat(shared, &status) == 0 && status.st_mode & 0o7777 == 0o1777)
    }

    /// As from an archive: what it has could be anybody's bytes.
    @Test(.enabled(if: PosixFileSystem().birth(of: NSTemporaryDirectory()) != nil))
    func trustsNoStateThatWasMadeElsewhere() async throws {
        let large = putLarge(sending: 16, over: "curl")
        let words = ["get", "-q", "--transport", "curl", url("large.bin")]
        try await stop(words)
        let state = place.url.appendingPathComponent(".lanner")
        let copy = place.url.appendingPathComponent("copy")
        try FileManager.default.moveItem(at: state, to: copy)
        try FileManager.default.copyItem(at: copy, to: state)
        server.always("large.bin", nil)
        let (asked, get) = (server.requests.count, try await Program.run(words, in: place))
        #expect(get.code == 4 && server.requests.count == asked)
        #expect(get.errors.count == 1 && get.errors.first?.hasPrefix("lanner: .lanner was not made here") == true)
        // Nor because it could not be looked at before.
        let lock = state.appendingPathComponent("manager.lock")
        try FileManager.default.removeItem(at: lock)
        try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: true)
        #expect(try await Program.run(words, in: place).code == 4)
        try FileManager.default.removeItem(at: lock)
        let again = try await Program.run(words, in: place)
        #expect(again.errors == get.errors && server.requests.count == asked)
        #expect(try await Program.run(words + ["--adopt"], in: place).code == 0)
        #expect(place.bytes("large.bin") == large.bytes && server.requests.last?.fields["Range"] != nil)
        #expect(place.names == ["copy", "large.bin"])
        // What was only moved is the same.
        try FileManager.default.removeItem(at: place.url.appendingPathComponent("large.bin"))
        try FileManager.default.moveItem(at: copy, to: state)
        #expect(try await Program.run(words, in: place).code == 0)
        #expect(place.bytes("large.bin") == large.bytes && server.requests.last?.fields["Range"] != nil)
    }

    @Test func takesHeaderFieldsFromAFile() async throws {
        try place.write(Array("# mine\nAuthorization: Bearer secret\r\n\n  \nX-Key:1".utf8), to: "fields")
        let given = ["get", "-q", "--header", "@fields", "--header", "X-Other: 2", url("small.bin")]
        #expect(try await Program.run(given, in: place).code == 0)
        let fields = try #require(server.requests.last?.fields)
        #expect(fields["Authorization"] == "Bearer secret" && fields["X-Key"] == "1" && fields["X-Other"] == "2")
        try place.write(Array("A: 1\nsecret".utf8), to: "fields")
        let wrong = try await Program.run(["get", "--header", "@fields", url("small.bin")], in: place)
        #expect(wrong.errors == ["lanner: fields:2: the header field has no colon; write 'NAME: VALUE'"])
        let missing = try await Program.run(["get", "--header", "@none", url("small.bin")], in: place)
        let words = "lanner: the header fields “none” cannot be read"
        #expect(missing.code == 2 && missing.errors.first?.hasPrefix(words) == true)
        try place.write(Array("A: 1".utf8), to: "small.bin")
        let itself = try await Program.run(["get", "--header", "@small.bin", url("small.bin")], in: place)
        #expect(itself.errors.first?.contains("small.bin is what this command is read from") == true)
    }

    /// A log keeps what is printed.
    @Test func showsNoSignatures() async throws {
        let get = try await Program.run(["get", "-q", "--retries", "0", url("none") + "?key=secret"], in: place)
        #expect(get.errors == ["lanner: \(url("none"))?… (none): the server answered with status 404; check the URL"])
    }

    @Test func keepsItsStateToItself() async throws {
        for makes in [false, true] {
            let state = place.url.appendingPathComponent(".lanner").path
            if makes { #expect(mkdir(state, 0o700) == 0 && chmod(state, 0o777) == 0) }
            #expect(
                try await Program.run(["get", "-q", "--retries", "0", url("small.bin"), url("none")], in: place).code
                    == 1)
            var status = stat()
            #expect(stat(state, &status) == 0 && status.st_mode & 0o777 == 0o700)
            try FileManager.default.removeItem(atPath: state)
        }
    }

    @Test func refusesADirectoryInUse() async throws {
        server.script("small.bin", [.hold])
        let first = try Program(["get", "-q", url("small.bin")], in: place)
        try await server.waitForStalls(1)
        let second = try await Program.run(["get", url("small.bin")], in: place)
        #expect(second.code == 1)
        #expect(second.errors.count == 1)
        let words = "is in use by another lanner; wait until that has ended, or choose another directory by -d"
        #expect(second.errors.first?.hasSuffix(words) == true)
        try server.release()
        #expect(await first.result().code == 0)
        #expect(place.bytes("small.bin") == small.bytes)
    }

    /// No header field goes there.
    @Test func saysWhoHasRefused() async throws {
        let other = try LoopbackServer()
        other.always("secret", .status(401))
        server.always("small.bin", .redirect(to: other.url("secret").absoluteString))
        let host = "127.0.0.1:\(try #require(other.url("secret").port))"
        let led = try await Program.run(["get", "-q", "--retries", "0", url("small.bin")], in: place)
        #expect(
            led.errors == [
                "lanner: \(url("small.bin")): \(host), where it leads, answered with status 401; check the URL"
            ])
        let mirror = ["--mirror", other.url("secret").absoluteString, url("none")]
        let mirrored = try await Program.run(["get", "-q", "--retries", "0"] + mirror, in: place)
        let words = "one of the servers answered with status 401; check the URL and the mirrors"
        #expect(mirrored.errors == ["lanner: \(url("none")): \(words)"])
    }

    @Test func refusesAPlaceThatCannotBeWritten() async throws {
        try place.write([1], to: "file")
        let inTheWay = try await Program.run(["get", "-d", "file", url("small.bin")], in: place)
        #expect(inTheWay.code == 4)
        #expect(inTheWay.errors.count == 1)
        try FileManager.default.createDirectory(
            at: place.url.appendingPathComponent("small.bin"), withIntermediateDirectories: false)
        let directory = try await Program.run(["get", url("small.bin")], in: place)
        #expect(directory.code == 4)
        #expect(directory.errors == ["lanner: small.bin is a directory; choose another name"])
        let json = try await Program.run(["get", "--json", url("small.bin")], in: place)
        let words = #""code":"disk.inTheWay","detail":"small.bin is a directory; choose another name","event":"failed""#
        #expect(json.output == [#"{"bytes":0,\#(words),"file":null,"speed":0,"total":null,"url":null}"#])
        #expect(json.code == 4 && json.errors == directory.errors)
        let list = (0..<100).map { url($0 == 70 ? "small.bin" : "\($0)") + "\n" }.joined()
        let ofMany = try await Program.run(["get", "-i", "-"], in: place, input: list)
        #expect(ofMany.code == 4 && ofMany.errors == directory.errors)
        #expect(server.requests.isEmpty)
        #expect(place.names == ["file", "small.bin"])
    }

    /// A rename would replace it all the same. What is there and right is not touched.
    @Test(.enabled(if: Protection.isPossible, "the superuser may write to every file"))
    func replacesNoFileThatMayNotBeWritten() async throws {
        try place.write(Array("precious".utf8), to: "small.bin")
        let protection = try Protection(of: place.url.appendingPathComponent("small.bin").path)
        defer { protection.end() }
        server.put("other.bin", small)
        let get = try await Program.run(["get", "-q", url("small.bin"), url("other.bin")], in: place)
        let advice = "choose another name, or change its permissions"
        #expect(get.code == 4)
        #expect(get.errors == ["lanner: \(url("small.bin")): small.bin may not be written to; \(advice)"])
        #expect(place.bytes("small.bin") == Array("precious".utf8) && place.bytes("other.bin") == small.bytes)
        #expect(server.requests.allSatisfy { $0.path == "/other.bin" })
        let sum = try Checksum.digest(
            ofFileAt: place.url.appendingPathComponent("small.bin").path, algorithm: .sha256)
        let right = ["get", "-q", "--checksum", sum.description, url("small.bin")]
        #expect(try await Program.run(right, in: place).code == 0)
    }

    @Test func replacesNoPipe() async throws {
        let pipe = place.url.appendingPathComponent("small.bin").path
        #expect(mkfifo(pipe, 0o600) == 0)
        let list = (0..<40).map { url($0 == 20 ? "small.bin" : "\($0)") + "\n" }.joined()
        let calls = [
            try await Program.run(["get", url("small.bin")], in: place),
            try await Program.run(["get", "-o", "small.bin", url("other")], in: place),
            try await Program.run(["get", "-i", "-"], in: place, input: list),
        ]
        for get in calls {
            #expect(get.code == 4)
            #expect(get.errors == ["lanner: small.bin is a pipe, not a file; choose another name"])
        }
        #expect(server.requests.isEmpty)
        #expect(place.names == ["small.bin"])
        var status = stat()
        let isThere = lstat(pipe, &status) == 0
        #expect(isThere && status.st_mode & S_IFMT == S_IFIFO)
    }

    @Test(arguments: [
        ("/dev/null", "a device"), ("/dev/none", "a link to /dev/none"),
        (String(repeating: "../", count: 40) + "proc/none/fd/1", "a link to /proc/none/fd/1"),
    ])
    func replacesNoLinkToADevice(_ target: String, _ kind: String) async throws {
        let link = place.url.appendingPathComponent("small.bin").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let get = try await Program.run(["get", url("small.bin")], in: place)
        #expect(get.code == 4)
        #expect(get.errors == ["lanner: small.bin is \(kind), not a file; choose another name"])
        #expect(server.requests.isEmpty)
        #expect(place.names == ["small.bin"])
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
    }

    @Test func replacesNoListThatItHasRead() async throws {
        let list = Array(url("small.bin").utf8)
        try place.write(list, to: "small.bin")
        let get = try await Program.run(["get", "-i", "small.bin"], in: place)
        #expect(get.code == 2 && server.requests.isEmpty)
        let advice = "choose another name, or another directory by -d"
        #expect(get.errors == ["lanner: small.bin is what this command is read from; \(advice)"])
        #expect(place.bytes("small.bin") == list && place.names == ["small.bin"])
    }

    /// By whatever name it was read.
    @Test(arguments: [
        ("ln -s small.bin l", "l"), ("ln small.bin l", "l"), ("exec <small.bin", "-"),
        ("exec <small.bin", "/dev/stdin"),
    ])
    func replacesNoListThatItHasReadByAnotherName(_ preparation: String, _ name: String) async throws {
        let lists = [[url("small.bin")], (0..<40).map { url("\($0).bin") } + [url("small.bin")]]
        for list in lists.map({ Array($0.joined(separator: "\n").utf8) }) {
            try place.write(list, to: "small.bin")
            let script = #"rm -f l; \#(preparation); exec "$0" "$@""#
            let get = try await Program.run(["get", "-i", name], in: place, script: script)
            #expect(get.code == 2 && server.requests.isEmpty)
            #expect(get.errors.first?.hasPrefix("lanner: small.bin is what this command is read from; ") == true)
            #expect(place.bytes("small.bin") == list)
        }
    }

    @Test func replacesALinkToAFile() async throws {
        try place.write([1], to: "file")
        let link = place.url.appendingPathComponent("small.bin").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "file")
        let get = try await Program.run(["get", "-q", url("small.bin")], in: place)
        #expect(get.code == 0)
        #expect(place.bytes("small.bin") == small.bytes)
        #expect(place.bytes("file") == [1])
    }

    @Test(arguments: [
        [], ["get"], ["get", "-x"], ["get", "ftp://a/b"], ["get", "http://"],
        ["get", "http://a/b", "--header", "A: b\nC: d"],
        ["get", "http://a/b", "--checksum", "sha256:00"], ["get", "-i", "missing.txt"], ["get", "-i", "-"],
        ["get", "http://a/b", "--ca-certificate", "missing.pem"], ["get", "http://a/b", "--ca-certificate=."],
        ["get", "http://a/b", "--ca-certificate", "/dev/null"],
        ["get", "http://a/x", "http://b/x"], ["get", "http://a%3Ab:c@host/x"],
        ["get", "http://a/x", "--mirror", "http://a%3Ab:c@host/x"], ["--version", "x"], ["hash"],
        ["hash", "--algorithm", "x", "f"], ["verify", "md5:00", "f"],
        ["nonsense"],
    ])
    func refusesWrongUsage(_ words: [String]) async throws {
        let result = try await Program.run(words, in: place)
        #expect(result.code == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.count == 1)
        #expect(result.errors.first?.hasPrefix("lanner: ") == true)
        #expect(place.names.isEmpty)
    }
}

/// A file that may not be written to; not by the superuser either, for whom permissions are none.
private struct Protection {
    private struct Refused: Error {}

    private let path: String
    private let isOfFlags: Bool

    /// Whether there can be one: not every file system has flags, nor every superuser leave to set them.
    static let isPossible: Bool = {
        guard geteuid() == 0 else { return true }
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("lanner-\(UUID().uuidString)").path
        defer { unlink(path) }
        guard FileManager.default.createFile(atPath: path, contents: nil), let protection = try? Protection(of: path)
        else { return false }
        protection.end()
        return true
    }()

    init(of path: String) throws {
        (self.path, isOfFlags) = (path, geteuid() == 0)
        if isOfFlags { try setImmutable(true) } else { chmod(path, 0o444) }
    }

    func end() {
        if isOfFlags { try? setImmutable(false) }
    }

    private func setImmutable(_ isImmutable: Bool) throws {
        #if os(Linux)
        // `FS_IOC_GETFLAGS`, `FS_IOC_SETFLAGS` with 64 bits, and `FS_IMMUTABLE_FL`.
        let (getting, setting, flag): (UInt, UInt, CInt) = (0x8008_6601, 0x4008_6602, 0x10)
        let file = open(path, O_RDONLY)
        defer { close(file) }
        var flags: CInt = 0
        guard ioctl(file, getting, &flags) == 0 else { throw Refused() }
        flags = isImmutable ? flags | flag : flags & ~flag
        guard ioctl(file, setting, &flags) == 0 else { throw Refused() }
        #else
        guard chflags(path, isImmutable ? UInt32(UF_IMMUTABLE) : 0) == 0 else { throw Refused() }
        #endif
    }
}
#endif
