import Foundation

@testable import LannerMachine
@testable import LannerURLSession

/// Single header fields of a response.
extension FuzzTarget {
    /// Lines of `Content-Range`.
    static let contentRange = FuzzTarget("content-range") { bytes in
        var feed = Feed(bytes)
        let lines = feed.lines()
        for line in lines {
            guard let range = ContentRange(line) else { continue }
            try promise(ContentRange(text(range)) == range, "\(range) is read otherwise when it is written again")
            if case .part(let part, let total) = range {
                try promise(part.lowerBound >= 0 && !part.isEmpty, "\(part) is empty or negative")
                try promise(total.map { part.upperBound <= $0 } ?? true, "\(part) is not within \(total ?? 0)")
            }
            try promise(range.total ?? 0 >= 0, "the total of \(range) is negative")
        }
        let all = HeaderFields(lines.map { .init(name: "content-range", value: $0) })
        guard let agreed = ContentRange(fields: all) else { return }
        let members = lines.flatMap { $0.utf8.split(separator: 0x2C).map { String(decoding: $0, as: UTF8.self) } }
        try promise(members.allSatisfy { ContentRange($0) == agreed }, "\(members) are not all \(agreed)")
    }

    /// The range as a good server writes it.
    static func text(_ range: ContentRange) -> String {
        switch range {
        case .part(let part, let total):
            "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(total.map { "\($0)" } ?? "*")"
        case .unsatisfied(let total): "bytes */\(total)"
        }
    }

    /// Lines of `Content-Length`.
    static let contentLength = FuzzTarget("content-length") { bytes in
        var feed = Feed(bytes)
        let lines = feed.lines()
        let fields = HeaderFields(lines.map { .init(name: "Content-Length", value: $0) })
        let length = ContentLength(fields: fields)
        let members = lines.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        if let value = length.value {
            try promise(value >= 0, "\(value) is negative")
            let digits = members.map { $0.drop { " \t0".contains($0) }.prefix { $0.isNumber } }
            try promise(digits.allSatisfy { $0 == (value == 0 ? "" : "\(value)") }, "\(lines) are not all \(value)")
        }
    }

    /// Lines of `ETag`.
    static let entityTag = FuzzTarget("entity-tag") { bytes in
        var feed = Feed(bytes)
        let tags = feed.lines().compactMap { EntityTag($0) }
        for tag in tags {
            try promise(EntityTag(tag.text) == tag, "\(tag) is read otherwise when it is written again")
            try promise(tag.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(tag) is not fit for a header")
            try promise(tag.text.hasPrefix("W/") == tag.isWeak, "\(tag) is not as weak as it says")
            try promise(tag.isEquivalent(to: tag), "\(tag) is not equivalent to itself")
            try promise(tag.isSameBytes(as: tag) != tag.isWeak, "a weak tag stands for bytes, or a strong one does not")
            for other in tags where tag.isSameBytes(as: other) {
                try promise(tag == other && tag.isEquivalent(to: other), "\(tag) and \(other) are not the same")
            }
        }
    }

    /// Lines of `Repr-Digest`, and of a dictionary with any byte sequences.
    static let digestField = FuzzTarget("digest-field") { bytes in
        var feed = Feed(bytes)
        let lines = feed.lines()
        let head = ResponseHead(
            status: 200, fields: HeaderFields(lines.map { .init(name: "Repr-Digest", value: $0) }))
        let isMalformed = ServerDigest.malformedField(head) != nil
        guard let read = ByteDictionary(lines) else {
            try promise(ServerDigest(head) == nil, "a digest from what is malformed")
            return try promise(isMalformed || lines.isEmpty, "nobody says that it is malformed")
        }
        let text = read.values.sorted { $0.key < $1.key }
            .map { "\($0.key)=:\(Data($0.value).base64EncodedString()):" }.joined(separator: ", ")
        // Written with padding it may be longer than what was read.
        if text.utf8.count <= ByteDictionary.longest {
            try promise(ByteDictionary([text]) == read, "\(read) is read otherwise when it is written again")
        }
        guard let digest = ServerDigest(head) else { return }
        try promise(read.values.values.contains(digest.bytes), "\(digest) was not said")
    }

    /// Lines of `Content-Disposition`.
    static let contentDisposition = FuzzTarget("content-disposition") { bytes in
        var feed = Feed(bytes)
        let lines = feed.lines()
        for line in lines {
            guard let name = ContentDisposition(line)?.fileName else { continue }
            try promise(!name.isEmpty, "\(line) names nothing")
            for form in [quoted(name), extended(name)] {
                let again = ContentDisposition("attachment; \(form)")?.fileName
                // What is read as ISO-8859-1 may look like UTF-8 the second time.
                let isSame = again.map { Array($0.utf8) == Array(name.utf8) } ?? false
                let isLatin = name.unicodeScalars.allSatisfy { $0.value <= 0xFF }
                try promise(isSame || (isLatin && form != extended(name)), "“\(name)” is “\(again ?? "")” as \(form)")
            }
            let both = ContentDisposition("attachment; filename=\"x\"; \(extended(name))")?.fileName
            try promise(both.map { Array($0.utf8) } == Array(name.utf8), "\(name) is not taken before another")
        }
        let all = HeaderFields(lines.map { .init(name: "content-disposition", value: $0) })
        guard let agreed = ContentDisposition(fields: all) else { return }
        try promise(lines.allSatisfy { ContentDisposition($0) == agreed }, "\(lines) are not all \(agreed)")
    }

    private static func quoted(_ name: String) -> String {
        let escaped = name.utf8.flatMap { $0 == 0x22 || $0 == 0x5C ? [0x5C, $0] : [$0] }
        return "filename=\"" + String(decoding: escaped, as: UTF8.self) + "\""
    }

    private static func extended(_ name: String) -> String {
        let digits = Array("0123456789abcdef")
        return "filename*=UTF-8''" + name.utf8.map { "%\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }.joined()
    }
}
