import Foundation
import LannerMachine

/// The server's side of one download: a file that may change, and the habits of the server.
struct Remote {
    /// What its answers tell about the version.
    enum Tie: CaseIterable {
        case strongTag
        case date
        case weakTag
        /// Another strong tag for the same bytes, each time.
        case flippingTag
        case nothing
    }

    /// What an answer carries: a header, and which bytes of which version follow.
    struct Answer {
        var head: ResponseHead
        var body: Range<Int64>
        var version: Int
        /// Whether the body's end is told before it comes.
        var tellsEnd = true
    }

    var tie: Tie
    /// Whether its answers tell the digest of the file, which here is the number of the version.
    var tellsDigest: Bool
    var servesRanges: Bool
    var tellsLength: Bool
    /// Sends less of a range than was asked for, as a server may.
    var shortens: Bool
    /// The size of each version; the last is the one that is served.
    var totals: [Int64]
    private var answers = 0

    var version: Int { totals.count - 1 }
    var total: Int64 { totals[version] }

    /// How large the files are, beside the usual.
    private let scale: Int

    init(scale: Int, _ random: inout SeededGenerator) {
        self.scale = scale
        tie = Tie.allCases[random.below(Tie.allCases.count)]
        servesRanges = !random.chance(15)
        tellsLength = !random.chance(25)
        shortens = random.chance(15)
        tellsDigest = random.chance(30)
        totals = []
        totals = [size(&random)]
    }

    private func size(_ random: inout SeededGenerator) -> Int64 {
        switch random.below(8) {
        case 0: Int64(random.below(3))
        case 1, 2: Int64(random.below(1000))
        case 3, 4, 5: Int64(random.below(20 * scale))
        default: Int64(random.below(120 * scale))
        }
    }

    /// Puts another file in the place; every other time one of the same size.
    mutating func change(_ random: inout SeededGenerator) {
        totals.append(random.chance(50) ? total : size(&random))
    }
}

extension Remote {
    /// The answer of a server that keeps to the rules.
    mutating func answer(_ ask: Ask, _ random: inout SeededGenerator) -> Answer {
        answers += 1
        guard let range = ask.range, servesRanges, holds(ask.ifRange) else { return whole }
        guard range.lowerBound < total else { return random.chance(20) ? whole : unsatisfied }
        var end = ask.isOpenEnded ? total : min(total, range.upperBound)
        if shortens { end -= Int64(random.below(Int(end - range.lowerBound))) }
        return part(range.lowerBound..<end, of: random.chance(5) ? nil : total)
    }

    /// An answer that contradicts the request, itself or the file.
    mutating func lie(_ ask: Ask, _ random: inout SeededGenerator) -> Answer {
        let honest = answer(ask, &random)
        let range = ask.range ?? 0..<1
        switch random.below(9) {
        case 0: return part(range.lowerBound + 1..<range.lowerBound + 2, of: max(total, range.lowerBound + 3))
        case 1: return part(0..<max(1, total), of: max(1, total))
        case 2:
            var other = honest
            other.head.fields["Content-Range"] = nil
            return other
        case 3: return part(honest.body.isEmpty ? 0..<1 : honest.body, of: total + 1)
        case 4: return status(416)
        case 5: return status(416, ["Content-Range": "bytes */\(total + 1)"])
        case 6: return status(412)
        case 7: return status(204)
        default:
            var other = honest
            other.head.fields["ETag"] = "\"lie\(answers)\""
            return other
        }
    }

    /// A status that may pass, or one that does not.
    func refusal(_ random: inout SeededGenerator) -> Answer {
        switch random.below(8) {
        case 0: status(404)
        case 1: status(429, ["Retry-After": "\(random.below(5))"])
        case 2: status(503, ["Retry-After": "Mon, 01 Jan 2024 00:00:02 GMT", "Date": "Mon, 01 Jan 2024 00:00:00 GMT"])
        default: status(500 + (random.chance(50) ? 0 : 2))
        }
    }

    /// What is answered for a link whose time is over.
    func refuseLink(_ random: inout SeededGenerator) -> Answer {
        status([401, 403, 410][random.below(3)])
    }

    func redirect() -> Answer {
        status(302, ["Location": "/elsewhere"])
    }
}

extension Remote {
    private var whole: Answer {
        var fields = validators
        if servesRanges { fields["Accept-Ranges"] = "bytes" }
        if tellsLength { fields["Content-Length"] = "\(total)" }
        return Answer(
            head: ResponseHead(status: 200, fields: fields), body: 0..<total, version: version, tellsEnd: tellsLength)
    }

    private func part(_ body: Range<Int64>, of size: Int64?) -> Answer {
        var fields = validators
        let text = size.map { "\($0)" } ?? "*"
        fields["Content-Range"] = "bytes \(body.lowerBound)-\(body.upperBound - 1)/\(text)"
        return Answer(head: ResponseHead(status: 206, fields: fields), body: body, version: version)
    }

    private var unsatisfied: Answer {
        status(416, ["Content-Range": "bytes */\(total)"])
    }

    private func status(_ code: Int, _ fields: HeaderFields = [:]) -> Answer {
        Answer(head: ResponseHead(status: code, fields: fields), body: 0..<0, version: version)
    }

    private func holds(_ validator: String?) -> Bool { validator == nil || validator == tag || validator == date }

    private var tag: String? {
        switch tie {
        case .strongTag: "\"v\(version)\""
        case .weakTag: "W/\"v\(version)\""
        case .flippingTag: "\"f\(answers)\""
        case .date, .nothing: nil
        }
    }

    private var date: String? {
        guard tie == .date else { return nil }
        let days = ["Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Mon"]
        let day = version % 28
        let hour = version / 28 % 24
        return "\(days[day % 7]), \(twoDigits(day + 1)) Feb 2022 \(twoDigits(hour)):00:00 GMT"
    }

    private var digest: [UInt8] { (0..<32).map { UInt8(truncatingIfNeeded: version >> ($0 * 8 % 64)) } }

    /// The version that a digest is of.
    static func version(of digest: ServerDigest) -> Int {
        digest.bytes.prefix(2).reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private var validators: HeaderFields {
        var fields: HeaderFields = [:]
        fields["ETag"] = tag
        if tellsDigest { fields["Repr-Digest"] = "sha-256=:\(Data(digest).base64EncodedString()):" }
        if let date {
            fields["Last-Modified"] = date
            fields["Date"] = "Mon, 01 Jan 2024 00:00:00 GMT"
        }
        return fields
    }
}
