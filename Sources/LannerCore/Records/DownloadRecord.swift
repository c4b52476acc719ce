import Foundation
import LannerMachine

/// What is remembered of a download from one launch to the next.
struct DownloadRecord: Sendable, Equatable {
    var id: DownloadID
    /// The token of the store that it was made for, which is in the name of its partial file.
    var token: UInt64
    var url: String
    /// The caller's header fields.
    var fields = HeaderFields()
    var place: FilePlace
    /// Whether its caller chose the place.
    var hasDestination = false
    /// Whether the name will be that which the server gives.
    var isNameOpen = false
    /// Its place in the order.
    var rank: Int64
    /// The expected digest, as "algorithm:hexadecimal".
    var digest: String?
    /// What its pieces have to be.
    var pieces: Checksum.Pieces?
    /// Whether the file may be in its place, and has yet to be compared with one of these.
    var isUncompared = false
    /// Whether the file in its place is that of another download, which came later.
    var isReplaced = false
    /// What tells the file that it has put into its place.
    var file: FileFingerprint?
    /// Seconds since 1970; 0 for not yet.
    var startDate: Double = 0
    var endDate: Double = 0
    /// What was found when the file was last compared with a digest.
    var validation = Validation.unknown
    /// The boot of the machine in which the record was written.
    var boot: String?
    /// What it is known by in its context.
    var key: String
    var list: String?
    var priority = DownloadPriority.normal
    var maximumBytesPerSecond: Int64?
    var context: String?
    var metadata: [String: String] = [:]
    /// What happens when its place is taken; as configured when nil.
    var conflictPolicy: FileConflictPolicy?
    /// What happens then to the move that is under way.
    var movePolicy: FileConflictPolicy?
    var saved: Saved
    /// The link that was given last, and when its time is over.
    var link: KeptLink?
    var linkExpirationDate: Date?
    /// Other places that have the file, and which of them has told its version, if one has.
    var mirrors: [URL] = []
    var mirrorOfVersion: URL?
    /// The exchange that the transport keeps for it, and the number of the last one it had.
    var exchange: ExchangeMark?
    var lastSerial: UInt64 = 0

    var identity: Identity { Identity(context: context, key: key) }

    /// The key in the store.
    var storeKey: String { Self.key(id) }

    static func key(_ id: DownloadID) -> String { String(id.number) }

    /// The name of the partial file that it speaks of.
    var partialName: PartialName { PartialName(token: token, id: id, generation: saved.generation) }
}

extension DownloadRecord {
    enum Tag {
        static let id: UInt8 = 1
        static let url: UInt8 = 2
        static let fieldName: UInt8 = 3
        static let fieldValue: UInt8 = 4
        static let fileName: UInt8 = 5
        static let rank: UInt8 = 6
        static let digest: UInt8 = 7
        static let resumeData: UInt8 = 8
        static let startDate: UInt8 = 9
        static let endDate: UInt8 = 10
        static let validation: UInt8 = 11
        static let boot: UInt8 = 12
        static let status: UInt8 = 13
        static let failureReason: UInt8 = 14
        static let failureDetail: UInt8 = 15
        static let entityTag: UInt8 = 16
        static let lastModified: UInt8 = 17
        static let isLastModifiedStrong: UInt8 = 18
        static let isEncoded: UInt8 = 19
        static let versionTotal: UInt8 = 20
        static let generation: UInt8 = 21
        static let written: UInt8 = 22
        static let synced: UInt8 = 23
        static let total: UInt8 = 24
        static let token: UInt8 = 25
        static let resumeDataHeld: UInt8 = 26
        static let isNameOpen: UInt8 = 27
        // From here on later than the first version, whose records have none of these.
        // A number never gets another meaning: earlier versions pass over those that they do not know.
        static let key: UInt8 = 28
        static let list: UInt8 = 29
        static let context: UInt8 = 30
        static let metadataName: UInt8 = 31
        static let metadataValue: UInt8 = 32
        static let directory: UInt8 = 33
        static let conflictPolicy: UInt8 = 34
        static let isUnstarted: UInt8 = 35
        static let isOfOtherURL: UInt8 = 36
        static let hasDestination: UInt8 = 37
        static let isLeftover: UInt8 = 38
        static let priority: UInt8 = 39
        static let maximumBytesPerSecond: UInt8 = 48
        static let serverDigestAlgorithm: UInt8 = 49
        static let serverDigest: UInt8 = 50
        static let pieceAlgorithm: UInt8 = 51
        static let pieceLength: UInt8 = 52
        static let pieceDigests: UInt8 = 53
        static let linkURL: UInt8 = 64
        static let hasLinkFields: UInt8 = 65
        static let linkFieldName: UInt8 = 66
        static let linkFieldValue: UInt8 = 67
        static let linkExpirationDate: UInt8 = 68
        static let mirror: UInt8 = 69
        static let mirrorOfVersion: UInt8 = 70
        static let lastSerial: UInt8 = 72
        static let exchangeGeneration: UInt8 = 73
        static let isExchangeResumed: UInt8 = 74
        static let isPublished: UInt8 = 75
        static let isUncompared: UInt8 = 76
        static let isReplaced: UInt8 = 77
        static let movePolicy: UInt8 = 78
        static let file: ClosedRange<UInt8> = 79...81
        static let isOfOneVersion: UInt8 = 82
    }

    /// The record as the store keeps it.
    var encoded: Data {
        var writer = RecordWriter()
        writer.put(Tag.id, Int64(bitPattern: id.number))
        writer.put(Tag.token, Int64(bitPattern: token))
        writer.put(Tag.url, url)
        for field in fields.fields {
            writer.put(Tag.fieldName, field.name)
            writer.put(Tag.fieldValue, field.value)
        }
        writer.put(Tag.fileName, place.name)
        encodeScope(into: &writer)
        writer.put(Tag.isNameOpen, if: isNameOpen)
        writer.put(Tag.rank, rank)
        writer.put(Tag.digest, digest)
        writer.put(Tag.isUncompared, if: isUncompared)
        writer.put(Tag.isReplaced, if: isReplaced)
        writer.put(Tag.file, file)
        writer.put(Tag.startDate, Int64(bitPattern: startDate.bitPattern))
        writer.put(Tag.endDate, Int64(bitPattern: endDate.bitPattern))
        if validation != .unknown { writer.put(Tag.validation, validation.rawValue) }
        writer.put(Tag.boot, boot)
        encode(saved, into: &writer)
        encodeLink(into: &writer)
        encodeExchange(into: &writer)
        encodeDigests(into: &writer)
        return writer.bytes
    }

    private func encodeLink(into writer: inout RecordWriter) {
        for mirror in mirrors { writer.put(Tag.mirror, mirror.absoluteString) }
        writer.put(Tag.mirrorOfVersion, mirrorOfVersion?.absoluteString)
        if let date = linkExpirationDate {
            writer.put(Tag.linkExpirationDate, Int64(bitPattern: date.timeIntervalSince1970.bitPattern))
        }
        guard let link else { return }
        writer.put(Tag.linkURL, link.url.absoluteString)
        guard let fields = link.fields else { return }
        writer.put(Tag.hasLinkFields, 1)
        for field in fields.fields {
            writer.put(Tag.linkFieldName, field.name)
            writer.put(Tag.linkFieldValue, field.value)
        }
    }

    /// The exchange is always the last there was.
    private func encodeExchange(into writer: inout RecordWriter) {
        if lastSerial > 0 { writer.put(Tag.lastSerial, Int64(bitPattern: lastSerial)) }
        guard let exchange else { return }
        writer.put(Tag.exchangeGeneration, Int64(exchange.generation))
        writer.put(Tag.isExchangeResumed, exchange.isResumed ? 1 : 0)
    }

    /// What most downloads do not have.
    private func encodeScope(into writer: inout RecordWriter) {
        if key != url { writer.put(Tag.key, key) }
        writer.put(Tag.list, list)
        if priority != .normal { writer.put(Tag.priority, Int64(priority.rawValue)) }
        writer.put(Tag.maximumBytesPerSecond, maximumBytesPerSecond)
        writer.put(Tag.context, context)
        if !metadata.isEmpty { encodeMetadata(into: &writer) }
        writer.put(Tag.directory, place.directory)
        writer.put(Tag.hasDestination, if: hasDestination)
        writer.put(Tag.conflictPolicy, conflictPolicy?.rawValue)
        writer.put(Tag.movePolicy, movePolicy?.rawValue)
    }

    /// In an order that is the same every time.
    private func encodeMetadata(into writer: inout RecordWriter) {
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) {
            writer.put(Tag.metadataName, name)
            writer.put(Tag.metadataValue, value)
        }
    }

    private func encode(_ saved: Saved, into writer: inout RecordWriter) {
        switch saved.status {
        case .active: writer.put(Tag.status, "active")
        case .suspended: writer.put(Tag.status, "suspended")
        case .publishing: writer.put(Tag.status, "publishing")
        case .succeeded: writer.put(Tag.status, "succeeded")
        case .failed(let failure):
            writer.put(Tag.status, "failed")
            writer.put(Tag.failureReason, failure.reason.code)
            writer.put(Tag.failureDetail, failure.detail)
        }
        writer.put(Tag.isUnstarted, if: saved.isUnstarted)
        writer.put(Tag.isOfOtherURL, if: saved.isOfOtherURL)
        writer.put(Tag.isLeftover, if: saved.isLeftover)
        writer.put(Tag.isPublished, if: saved.isPublished)
        writer.put(Tag.isOfOneVersion, if: saved.isOfOneVersion)
        writer.put(Tag.generation, Int64(saved.generation))
        writer.put(Tag.written, saved.written.ranges)
        writer.put(Tag.synced, saved.synced.ranges)
        writer.put(Tag.total, saved.total)
        writer.put(Tag.resumeData, saved.resumeData.map { Data($0.bytes) })
        writer.put(Tag.resumeDataHeld, saved.resumeData?.held)
        guard let version = saved.version else { return }
        writer.put(Tag.entityTag, version.entityTag?.text)
        writer.put(Tag.lastModified, version.lastModified)
        writer.put(Tag.isLastModifiedStrong, version.isLastModifiedStrong ? 1 : 0)
        writer.put(Tag.isEncoded, version.isEncoded ? 1 : 0)
        writer.put(Tag.versionTotal, version.total)
    }

    /// Reads a record; nil when what makes a download is not in it, or it expects a digest that nobody here can compute:
    /// without it another file might pass for the one that was asked for.
    init?(_ data: Data) {
        guard let reader = RecordReader(data), let id = reader.number(Tag.id), Self.numbers.contains(id),
            let token = reader.number(Tag.token), let url = reader.text(Tag.url), URL(string: url) != nil,
            let place = reader.place(name: Tag.fileName, directory: Tag.directory), Self.knowsPolicies(reader),
            let saved = Self.saved(reader)
        else { return nil }
        let (digest, pieces) = (reader.text(Tag.digest), Self.pieces(reader))
        if let digest, (try? Checksum.Digest(parsing: digest)) == nil { return nil }
        if pieces == nil, reader.data(Tag.pieceDigests) != nil { return nil }
        let rank = min(max(reader.number(Tag.rank) ?? 0, -Self.numbers.upperBound), Self.numbers.upperBound)
        self.init(
            id: DownloadID(UInt64(bitPattern: id)), token: UInt64(bitPattern: token), url: url, place: place,
            rank: rank, digest: digest, pieces: pieces, key: reader.text(Tag.key) ?? url, saved: saved)
        fields = Self.fields(reader, Tag.fieldName, Tag.fieldValue)
        isNameOpen = reader.flag(Tag.isNameOpen)
        boot = reader.text(Tag.boot)
        readScope(reader)
        readFile(reader)
        readLink(reader)
        readExchange(reader)
        readMirrors(reader)
    }

    private mutating func readScope(_ reader: RecordReader) {
        list = reader.text(Tag.list)
        priority = reader.number(Tag.priority).flatMap(Int8.init(exactly:)).flatMap(DownloadPriority.init) ?? .normal
        maximumBytesPerSecond = reader.number(Tag.maximumBytesPerSecond)
        context = reader.text(Tag.context)
        metadata = Dictionary(
            zip(reader.texts(Tag.metadataName), reader.texts(Tag.metadataValue)), uniquingKeysWith: { _, last in last })
        hasDestination = reader.flag(Tag.hasDestination)
        conflictPolicy = reader.text(Tag.conflictPolicy).flatMap(FileConflictPolicy.init)
        movePolicy = reader.text(Tag.movePolicy).flatMap(FileConflictPolicy.init)
    }

    /// What is known of the finished file.
    private mutating func readFile(_ reader: RecordReader) {
        isUncompared = reader.flag(Tag.isUncompared)
        isReplaced = reader.flag(Tag.isReplaced)
        file = reader.fingerprint(Tag.file)
        startDate = Self.date(reader.number(Tag.startDate))
        endDate = Self.date(reader.number(Tag.endDate))
        validation = reader.text(Tag.validation).flatMap(Validation.init) ?? .unknown
    }

    private mutating func readLink(_ reader: RecordReader) {
        linkExpirationDate = reader.number(Tag.linkExpirationDate).flatMap(Self.finiteDate)
            .map { Date(timeIntervalSince1970: $0) }
        guard let url = reader.text(Tag.linkURL).flatMap({ URL(string: $0) }) else { return }
        let hasFields = reader.flag(Tag.hasLinkFields)
        link = KeptLink(url: url, fields: hasFields ? Self.fields(reader, Tag.linkFieldName, Tag.linkFieldValue) : nil)
    }

    private mutating func readExchange(_ reader: RecordReader) {
        guard let serial = reader.number(Tag.lastSerial), serial > 0, Self.numbers.contains(serial) else { return }
        lastSerial = UInt64(serial)
        guard let generation = reader.number(Tag.exchangeGeneration), Self.generations.contains(generation)
        else { return }
        let isResumed = reader.flag(Tag.isExchangeResumed)
        exchange = ExchangeMark(serial: lastSerial, generation: UInt32(generation), isResumed: isResumed)
    }

    private mutating func readMirrors(_ reader: RecordReader) {
        mirrors = reader.texts(Tag.mirror).compactMap { URL(string: $0) }
        mirrorOfVersion = reader.text(Tag.mirrorOfVersion).flatMap { URL(string: $0) }
        guard let mirrorOfVersion else { return }
        if let source = mirrors.source(of: mirrorOfVersion) { saved.source = source } else { saved.isOfOtherURL = true }
    }

    /// What a later version does with a file that is in the way is not to be replaced by what this one would do.
    private static func knowsPolicies(_ reader: RecordReader) -> Bool {
        [Tag.conflictPolicy, Tag.movePolicy].allSatisfy { tag in
            reader.text(tag).map { FileConflictPolicy(rawValue: $0) != nil } ?? true
        }
    }

    private static func fields(_ reader: RecordReader, _ name: UInt8, _ value: UInt8) -> HeaderFields {
        HeaderFields(zip(reader.texts(name), reader.texts(value)).map(HeaderFields.Field.init))
    }

    /// Numbers that are counted on from, far from where counting ends.
    static let numbers: ClosedRange<Int64> = 0...1 << 62
    /// Behind the last of them the first comes again.
    private static let generations: ClosedRange<Int64> = 1...Int64(UInt32.max)

    private static func date(_ bits: Int64?) -> Double { bits.flatMap(finiteDate) ?? 0 }

    private static func finiteDate(_ bits: Int64) -> Double? {
        let date = Double(bitPattern: UInt64(bitPattern: bits))
        return date.isFinite ? date : nil
    }

    private static func saved(_ reader: RecordReader) -> Saved? {
        guard let status = status(reader) else { return nil }
        var saved = Saved(status: status, version: version(reader))
        saved.isUnstarted = reader.flag(Tag.isUnstarted)
        saved.isOfOtherURL = reader.flag(Tag.isOfOtherURL)
        saved.isLeftover = reader.flag(Tag.isLeftover)
        saved.isPublished = reader.flag(Tag.isPublished)
        saved.isOfOneVersion = reader.flag(Tag.isOfOneVersion)
        saved.total = reader.number(Tag.total).flatMap { numbers.contains($0) && $0 < numbers.upperBound ? $0 : nil }
        if let data = reader.data(Tag.resumeData), let held = reader.number(Tag.resumeDataHeld), numbers.contains(held)
        {
            saved.resumeData = ResumeData(Array(data), held: held)
        }
        guard let generation = reader.number(Tag.generation), generations.contains(generation) else { return saved }
        saved.generation = UInt32(generation)
        saved.written = ByteRanges(bounds: reader.numbers(Tag.written))
        saved.synced = ByteRanges(bounds: reader.numbers(Tag.synced))
        return saved
    }

    private static func status(_ reader: RecordReader) -> Saved.Status? {
        switch reader.text(Tag.status) {
        case "active": .active
        case "suspended": .suspended
        case "publishing": .publishing
        case "succeeded": .succeeded
        case "failed":
            .failed(
                DownloadFailure(
                    reader.text(Tag.failureReason).flatMap(DownloadFailure.Reason.init(code:)) ?? .transport(.other),
                    reader.text(Tag.failureDetail) ?? ""))
        case .some, nil: nil
        }
    }

    private static func version(_ reader: RecordReader) -> Version? {
        guard let isStrong = reader.number(Tag.isLastModifiedStrong) else { return nil }
        return Version(
            entityTag: reader.text(Tag.entityTag).flatMap { EntityTag($0) },
            lastModified: reader.text(Tag.lastModified), isLastModifiedStrong: isStrong == 1,
            total: reader.number(Tag.versionTotal), isEncoded: reader.flag(Tag.isEncoded),
            digest: serverDigest(reader))
    }
}

extension ByteRanges {
    /// Ranges from bounds; pairs that make no sense are left out.
    fileprivate init(bounds: [Int64]) {
        self.init(
            stride(from: 0, to: bounds.count - bounds.count % 2, by: 2).compactMap {
                bounds[$0] >= 0 && bounds[$0] <= bounds[$0 + 1] ? bounds[$0]..<bounds[$0 + 1] : nil
            })
    }
}

extension DownloadFailure.Reason {
    /// A text that is the same in every version of the library.
    package var code: String {
        switch self {
        case .transport(let fault): "transport." + fault.rawValue
        case .status(let status): "status.\(status)"
        case .unusableResponse: "unusableResponse"
        case .redirect: "redirect"
        case .link: "link"
        case .checksumMismatch: "checksumMismatch"
        case .disk(let fault): "disk." + fault.rawValue
        case .store: "store"
        }
    }

    init?(code: String) {
        let parts = code.split(separator: ".", maxSplits: 1).map(String.init)
        switch (parts.first, parts.dropFirst().first) {
        case ("transport", let name?): self = .transport(TransportFault(rawValue: name) ?? .other)
        case ("disk", let name?): self = .disk(DiskFault(rawValue: name) ?? .other)
        case ("status", let number?):
            guard let status = Int(number) else { return nil }
            self = .status(status)
        case ("unusableResponse", nil): self = .unusableResponse
        case ("redirect", nil): self = .redirect
        case ("link", nil): self = .link
        case ("checksumMismatch", nil): self = .checksumMismatch
        case ("store", nil): self = .store
        case (_, _): return nil
        }
    }
}

extension [URL] {
    /// What a URL is among these mirrors; nil when it is none of them.
    func source(of mirror: URL) -> Source? { firstIndex(of: mirror).map { $0 + 1 } }
}
