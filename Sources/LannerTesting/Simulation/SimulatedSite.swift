import Foundation
import LannerCore
import LannerLoopback
import LannerMachine

/// One file of a simulated server, in all the versions it ever had.
struct SimulatedSite {
    /// By what versions can be told apart.
    enum Validator: CaseIterable {
        case strongTag, weakTag, date, both, none
    }

    let url: URL
    /// Where the transport serves it.
    var place: String { url.absoluteString }
    /// Another URL that leads here.
    let alias: URL
    /// Another server that has the file, or had an earlier version of it.
    let mirror: URL
    let validator: Validator
    let acceptsRanges: Bool
    /// Whether no whole file comes in the place of a part but that of another version, which is told by its tag.
    var isRanged: Bool { acceptsRanges && (validator == .strongTag || validator == .weakTag || validator == .both) }
    let framing: LoopbackServer.Resource.Framing
    /// What the server calls the file, if anything.
    private let disposition: String?
    /// Whether the server may send wrong bytes. Only where every download of it is given a digest, or the server tells one.
    let isLying: Bool
    /// Whether the server tells digests, those of the right bytes.
    let tellsDigests: Bool
    /// Whether a download has to be given a digest.
    var needsChecksum: Bool { isLying && !tellsDigests }
    /// Whether it takes many slices.
    private let isLong: Bool
    private(set) var versions: [[UInt8]] = []
    private var lastModified = Date(timeIntervalSince1970: 0)
    /// Digests of the present version.
    private var digests: [Checksum.Algorithm: Checksum.Digest] = [:]

    init(number: Int, isLong: Bool = false, using random: inout SeededGenerator) {
        self.isLong = isLong
        let host = ["a", "b"][number % 2] + ".example"
        url = URL(string: "https://\(host)/file-\(number).bin") ?? URL(fileURLWithPath: "/")
        // Some of another host, some of another origin of the same: by its scheme, or by its port.
        let others = ["http://c.example", "https://b.example:8443", "http://a.example", "https://d.example"]
        alias = URL(string: "\(others[number % 4])/to-\(number)") ?? URL(fileURLWithPath: "/")
        let mirrors = number == 3 ? "https://b.example:444" : "https://m.example"
        mirror = URL(string: "\(mirrors)/copy-\(number).bin") ?? url
        validator = Validator.allCases.randomElement(using: &random) ?? .strongTag
        acceptsRanges = random.chance(5, in: 6)
        framing = random.chance(1, in: 6) ? .chunked : .contentLength
        isLying = random.chance(1, in: 4)
        tellsDigests = random.chance(1, in: 3)
        disposition = random.chance(1, in: 3) ? "attachment; filename=\"../served \(number).bin\"" : nil
    }

    /// The present version.
    var bytes: [UInt8] { versions.last ?? [] }

    /// A version that can be told from the last one by what the server says of it; nil when a date cannot tell.
    mutating func change(at date: Date, using random: inout SeededGenerator) -> LoopbackServer.Resource? {
        let second = Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down))
        if second <= lastModified { return nil }
        lastModified = second
        digests = [:]
        let length = versions.isEmpty || random.chance(1, in: 2) ? length(&random) : bytes.count
        let seed = random.next()
        versions.append(LoopbackServer.Resource(.generated(seed: seed, length: Int64(length))).bytes)
        return resource
    }

    /// Most files are small; some are longer than what is written at once.
    private func length(_ random: inout SeededGenerator) -> Int {
        if isLong { return 4000 + random.below(12_000) }
        return switch random.below(300) {
        case 0..<12: 0
        case 12..<24: 1
        case 24: 1_100_000 + random.below(100_000)
        default: 1 << random.below(15) + random.below(1000)
        }
    }

    private var resource: LoopbackServer.Resource {
        let tag = "v\(versions.count)"
        let (entityTag, date): (LoopbackServer.Resource.EntityTag?, Date?) =
            switch validator {
            case .strongTag: (.strong(tag), nil)
            case .weakTag: (.weak(tag), nil)
            case .date: (nil, lastModified)
            case .both: (.strong(tag), lastModified)
            case .none: (nil, nil)
            }
        return LoopbackServer.Resource(
            .bytes(bytes), entityTag: entityTag, lastModified: date, acceptsRanges: acceptsRanges, framing: framing,
            fields: fields)
    }

    private var fields: LoopbackServer.Fields {
        var fields: LoopbackServer.Fields = [:]
        fields["Content-Disposition"] = disposition
        if tellsDigests {
            fields["Repr-Digest"] = "sha-256=:\(Data(bytes.digest(.sha256).bytes).base64EncodedString()):"
        }
        return fields
    }

    /// The pieces of the present version; nil when that is empty.
    func pieces(length: Int) -> Checksum.Pieces? { bytes.pieces(length: length, .md5) }

    /// A digest of the present version.
    mutating func digest(_ algorithm: Checksum.Algorithm) -> Checksum.Digest {
        if let digest = digests[algorithm] { return digest }
        let digest = bytes.digest(algorithm)
        digests[algorithm] = digest
        return digest
    }

    /// The versions, the latest first, that have these bytes in these places.
    func holds(_ file: [UInt8], in ranges: [Range<Int64>]) -> Bool {
        versions.reversed().contains { version in
            ranges.allSatisfy { range in
                let range = Int(range.lowerBound)..<Int(range.upperBound)
                return range.upperBound <= version.count && range.upperBound <= file.count
                    && version[range].elementsEqual(file[range])
            }
        }
    }
}

extension [UInt8] {
    /// The pieces of a file; nil when it is empty.
    func pieces(length: Int, _ algorithm: Checksum.Algorithm) -> Checksum.Pieces? {
        let digests = stride(from: 0, to: count, by: length).map { start in
            Array(self[start..<Swift.min(start + length, count)]).digest(algorithm)
        }
        return try? Checksum.Pieces(length: Int64(length), digests: digests)
    }

    func digest(_ algorithm: Checksum.Algorithm) -> Checksum.Digest {
        var hasher = algorithm.makeHasher()
        withUnsafeBytes { hasher.update($0) }
        return Checksum.Digest(algorithm: algorithm, of: hasher)
    }
}

extension SeededGenerator {
    /// A number from 0 up to, not including, a bound.
    mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: next() % UInt64(max(1, bound)))
    }

    /// Whether something that happens so many times of so many happens now.
    mutating func chance(_ times: Int, in all: Int) -> Bool {
        below(all) < times
    }
}
