import Foundation
import Lanner
import LannerCurl

/// `lanner get`: downloads files, from where an earlier call was stopped.
struct GetCommand {
    private let options: GetOptions
    private let plan: GetPlan
    /// The files that the command was read from.
    private let inputs: [FileIdentity]

    /// Reads the files that are given and looks everything over.
    init(_ given: GetOptions) throws(UsageError) {
        var (options, inputs) = (given, [FileIdentity?]())
        for file in options.headerFiles {
            let (text, identity) = try Self.text(of: file, "the header fields")
            try options.addHeaders(text, file: file.printable)
            inputs.append(identity)
        }
        var entries: [InputFile.Entry] = []
        if let file = options.inputFile {
            let (text, identity) = try Self.text(of: file, "the list")
            entries = try InputFile.parse(text, file: (file == "-" ? Self.standardInput : file).printable)
            inputs.append(identity)
        }
        plan = try GetPlan(options, entries)
        inputs.append(try options.authorities.flatMap(Self.checkCertificates))
        self.options = options
        self.inputs = inputs.compactMap(\.self)
    }

    /// Each download would fail by it, in libcurl's words.
    private static func checkCertificates(_ file: String) throws(UsageError) -> FileIdentity? {
        // libcurl opens it by itself, for each connection.
        var status = stat()
        if stat(file, &status) == 0, ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) {
            throw UsageError("the certificates \(file.quoted) are not in a file; save them as one")
        }
        let (bytes, identity): (Data, FileIdentity?)
        do {
            let handle = try reader(of: file)
            (bytes, identity) = (try handle.readToEnd() ?? Data(), FileIdentity(handle.fileDescriptor))
        } catch {
            throw unreadable("the certificates \(file.quoted)", error)
        }
        // What begins a certificate, of any kind that OpenSSL reads (RFC 7468, 5).
        guard bytes.range(of: Data("CERTIFICATE-----".utf8)) != nil else {
            throw UsageError("there is no certificate in \(file.quoted); give a file of certificates in PEM")
        }
        return identity
    }

    private static let standardInput = "standard input"

    /// What is in a file; `role` is what it is given for.
    private static func text(
        of file: String, _ role: String
    ) throws(UsageError) -> (text: String, identity: FileIdentity?) {
        let name = file == "-" ? standardInput : file
        do {
            let handle = file == "-" ? .standardInput : try reader(of: file)
            guard let text = String(bytes: try handle.readToEnd() ?? Data(), encoding: .utf8) else {
                throw UsageError("\(name.printable) is not a text in UTF-8; save \(role) as one")
            }
            return (text, FileIdentity(handle.fileDescriptor))
        } catch let error as UsageError {
            throw error
        } catch {
            if file == "-" {
                throw UsageError("standard input cannot be read; give \(role) through a pipe, or as a file")
            }
            throw unreadable("\(role) \(name.quoted)", error)
        }
    }

    /// Opens a file by its name as it was given, as libcurl does: that of a URL would be another one.
    private static func reader(of file: String) throws -> FileHandle {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Says why, as the system does.
    private static func unreadable(_ file: String, _ error: any Error) -> UsageError {
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
        let why = cause.domain == NSPOSIXErrorDomain ? ": " + FileError.words(for: Int32(cause.code)) : ""
        return UsageError("\(file) cannot be read\(why); check its name, and that you may read it")
    }

    func run() async -> ExitCode {
        if let trouble = obstacle() { return fail(trouble) }
        do throws(CurlUnavailable) {
            let transport = try options.transport.make(trusting: options.authorities) { note in
                if !options.isQuiet { Console.message(note) }
            }
            return await run(over: transport)
        } catch {
            return fail(Trouble(error, for: options.authorities == nil ? "--transport" : "--ca-certificate"))
        }
    }

    private func run(over transport: any Transport) async -> ExitCode {
        if !options.isQuiet, options.rateLimit != nil, let note = Self.note(ofLimitOver: transport) {
            Console.message(note)
        }
        let interruption = Interruption()
        let state = StateDirectory(in: plan.directory)
        let (missing, isNew) = (state.missingDirectories, !state.isThere)
        // What this call has made, as long as nothing is in it.
        func removeMissing() { for directory in missing where rmdir(directory) != 0 { break } }
        func giveUp(_ trouble: Trouble) -> ExitCode {
            // It has files open, which may be what was lacking.
            transport.invalidate()
            if isNew { state.removeIfEmpty() }
            removeMissing()
            return fail(trouble)
        }
        if let trouble = state.claim() ?? clash(state) ?? state.examine(adopts: options.adopts) {
            return giveUp(trouble)
        }
        let log = LaunchLog()
        let manager = SessionManager(
            "lanner", configuration: configuration, transport: transport, network: UnwatchedNetwork(), logger: log,
            cache: state.cache(filesIn: plan.directory))
        if let trouble = obstacle(manager, state) {
            manager.invalidate()
            return giveUp(trouble)
        }
        // Another call may have removed it at its end, before it was this one's.
        state.seal.put()
        for loss in log.end() {
            Console.error("\(loss) What was not finished may begin anew; what was set aside may be removed.")
        }
        let reporter = reporter(interruption)
        let session = GetSession(
            plan: plan, headers: headers, priority: options.priority, manager: manager, reporter: reporter,
            interruption: interruption, decoder: transport is CurlTransport ? nil : "URLSession")
        let outcomes = await session.run()
        // One that comes from here on finds all at its end.
        let received = interruption.received
        if received != nil { reporter.note(session.parting(outcomes)) }
        switch await session.tidy(outcomes, isStopped: received != nil) {
        case .nothing:
            state.remove()
            removeMissing()
        case .others(let words): reporter.note(words)
        case .own: break
        }
        return .worst(outcomes.map(\.exitCode) + (received.map { [$0] } ?? []))
    }

    /// What is to be said of a limit that does not hold for all that a transport brings.
    private static func note(ofLimitOver transport: any Transport) -> String? {
        switch transport.traits.delivery {
        case .pausable: nil
        case .sliced: "lanner: over URLSession --limit-rate holds only where the server sends parts of files"
        case .file: "lanner: over URLSession --limit-rate does not hold"
        }
    }

    /// Before anything was begun.
    private func fail(_ trouble: Trouble) -> ExitCode {
        if options.isJSON { _ = Console.output(JSONLines.line(trouble)) }
        Console.error(trouble.detail)
        return trouble.exitCode
    }

    private var configuration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.maxConcurrentTasksLimit = options.jobs
        configuration.maxConnectionsPerDownload = options.connections
        configuration.timeoutIntervalForRequest = TimeInterval(options.timeout)
        configuration.retryPolicy.maximumRetries = options.retries
        configuration.maximumBytesPerSecond = options.rateLimit
        configuration.checksServerDigests = options.checksServerDigests
        configuration.postsNotifications = false
        // Whoever types a command has chosen the network.
        configuration.allowsCellularAccess = true
        return configuration
    }

    /// Nil for those of an earlier call.
    private var headers: [String: String]? {
        let fields = options.headers.fields
        if fields.isEmpty { return nil }
        return Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    private func reporter(_ interruption: Interruption) -> any Reporter {
        if options.isJSON {
            return JSONLines { interruption.stop(with: $0 == .readerGone ? .signal(SIGPIPE) : .failure) }
        }
        if options.isQuiet || Terminal.current == nil { return PlainLines(isQuiet: options.isQuiet) }
        return LiveBars(count: plan.items.count)
    }

    // MARK: Obstacles

    /// What would make a download fail at its end, found before its beginning.
    private func obstacle(_ manager: SessionManager, _ state: StateDirectory) -> Trouble? {
        if case .storeError(let error) = manager.unavailable, error.reason == .inUse { return state.inUse }
        if let error = manager.unavailable { return Trouble(error) }
        if access(plan.directory, W_OK) != 0 {
            return Trouble(
                code: "disk.notPermitted", reason: "\(plan.directory) may not be written to",
                advice: "choose a directory by -d", exitCode: .disk)
        }
        return nil
    }

    /// What would come to one name where the directory takes large and small letters for the same; of what is only known
    /// with the state in it.
    private func clash(_ state: StateDirectory) -> Trouble? {
        guard state.ignoresCase, let clash = plan.clashIgnoringCase() else { return nil }
        // Unless there was something in it before.
        rmdir(state.path)
        return Trouble(
            code: "disk.inTheWay", reason: clash,
            advice: "name one by out=NAME in a list (-i), or by -o in a call of its own", exitCode: .usage)
    }

    private func obstacle() -> Trouble? {
        // One look at what is there takes less than one at each of many names.
        let present = plan.items.count < 32 ? nil : names(in: plan.directory, atMost: 4 * plan.items.count)
        if present?.isEmpty == true { return nil }
        let taken = plan.items.filter { present?.contains($0.name.lowercased()) != false }
        return (inputs.isEmpty ? nil : taken.lazy.compactMap(ownInput).first) ?? taken.lazy.compactMap(obstacle).first
    }

    /// A file that the command has read, and would replace, by whatever name it was read.
    private func ownInput(_ item: GetPlan.Item) -> Trouble? {
        guard let identity = FileIdentity(at: item.path), inputs.contains(identity) else { return nil }
        return Trouble(
            code: "disk.inTheWay", reason: "\(item.path) is what this command is read from",
            advice: "choose another name, or another directory by -d", exitCode: .usage)
    }

    /// The names in a directory that a file may be given, in lower case, since to some file systems that is all the
    /// same; nil when there are more, or when it cannot be read.
    private func names(in directory: String, atMost limit: Int) -> Set<String>? {
        guard let names = try? PosixFileSystem().list(directory, atMost: limit + 1), names.count <= limit else {
            return nil
        }
        return Set(names.lazy.filter { $0 != TargetName.stateDirectory }.map { $0.lowercased() })
    }

    private func obstacle(_ item: GetPlan.Item) -> Trouble? {
        guard let kind = Self.irreplaceable(at: item.path) else { return nil }
        return Trouble(
            code: "disk.inTheWay", reason: "\(item.path) is \(kind)", advice: "choose another name", exitCode: .disk)
    }

    /// What is in a place, where no file may take that: a device or a pipe would be gone for all who use it.
    private static func irreplaceable(at path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        let isLink = status.st_mode & S_IFMT == S_IFLNK
        if isLink, stat(path, &status) != 0 { return specialLink(at: path) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return isLink ? specialLink(at: path) : nil
        case S_IFDIR: return "a directory"
        case S_IFIFO: return "a pipe, not a file"
        case S_IFSOCK: return "a socket, not a file"
        case _: return "a device, not a file"
        }
    }

    /// The same for a link into what the system keeps: `/dev/stdout` is one, and may lead to a file at the moment.
    private static func specialLink(at path: String) -> String? {
        guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return nil }
        var target = link.isAbsolutePath ? link : TargetName.path(link, in: path.directory)
        if !target.isAbsolutePath { target = FileManager.default.currentDirectoryPath + "/" + target }
        target = URIReference.removingDotSegments(target.plainPath)
        guard ["/dev/", "/proc/"].contains(where: { target.utf8.starts(with: $0.utf8) }) else { return nil }
        return "a link to \(target.printable), not a file"
    }
}
