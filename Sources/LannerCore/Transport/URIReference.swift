import LannerMachine

/// Bytes of a text where they lie: in an array, or lent by the text itself, so that nothing is copied to look at them.
protocol ByteSlice: RandomAccessCollection<UInt8> where Index == Int, SubSequence == Self {}

extension ArraySlice<UInt8>: ByteSlice {}
extension Slice<UnsafeBufferPointer<UInt8>>: ByteSlice {}

/// A URI or a relative reference in its five parts, and the resolution of one against another (RFC 3986, 3 and 5.2).
///
/// Written out because Foundation resolves some references wrongly on Linux and stops the process on others. Every
/// string is a reference; whether it is a good one is for ``WebAddress`` to say.
package struct URIReference: Sendable, Hashable {
    package var scheme: String?
    package var authority: String?
    package var path: String
    package var query: String?
    package var fragment: String?

    /// Takes a string apart; joined again, the parts give the same string.
    package init(_ text: String) {
        var text = text
        self = text.withUTF8 { URIReference(Parts($0[...])) }
    }

    init(_ parts: Parts<some ByteSlice>) {
        func text(_ bytes: some ByteSlice) -> String { String(decoding: bytes, as: UTF8.self) }
        scheme = parts.scheme.map { text($0) }
        authority = parts.authority.map { text($0) }
        path = text(parts.path)
        query = parts.query.map { text($0) }
        fragment = parts.fragment.map { text($0) }
    }

    /// The parts joined (5.3).
    package var text: String {
        (scheme.map { $0 + ":" } ?? "") + (authority.map { "//" + $0 } ?? "") + path
            + (query.map { "?" + $0 } ?? "") + (fragment.map { "#" + $0 } ?? "")
    }
}

extension URIReference {
    /// The parts where they lie in the bytes of a string: most are only looked at.
    struct Parts<Bytes: ByteSlice> {
        var scheme: Bytes?
        var authority: Bytes?
        var path: Bytes
        var query: Bytes?
        var fragment: Bytes?

        init(_ text: Bytes) {
            let slash = UInt8(ascii: "/")
            path = text
            fragment = Self.cut(&path, after: UInt8(ascii: "#"))
            query = Self.cut(&path, after: UInt8(ascii: "?"))
            if let colon = path.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(path[..<colon]) {
                scheme = path[..<colon]
                path = path[(colon + 1)...]
            }
            if path.first == slash, path.dropFirst().first == slash {
                path = path.dropFirst(2)
                let end = path.firstIndex(of: slash) ?? path.endIndex
                authority = path[..<end]
                path = path[end...]
            }
        }

        /// Those of a reference, which joined might be others.
        init(_ reference: URIReference) where Bytes == FieldText.Bytes {
            func bytes(_ text: String) -> FieldText.Bytes { Array(text.utf8)[...] }
            scheme = reference.scheme.map(bytes)
            authority = reference.authority.map(bytes)
            path = bytes(reference.path)
            query = reference.query.map(bytes)
            fragment = reference.fragment.map(bytes)
        }

        /// Removes everything from the first such byte on; what stood behind it is the result.
        private static func cut(_ rest: inout Bytes, after mark: UInt8) -> Bytes? {
            guard let index = rest.firstIndex(of: mark) else { return nil }
            defer { rest = rest[..<index] }
            return rest[(index + 1)...]
        }

        private static func isScheme(_ bytes: Bytes) -> Bool {
            guard let first = bytes.first, FieldText.isLetter(first) else { return false }
            return bytes.allSatisfy { FieldText.isLetter($0) || FieldText.isDigit($0) || "+-.".utf8.contains($0) }
        }
    }
}

extension URIReference {
    /// What this reference means in a document at `base` (5.2.2, strict).
    package func resolved(against base: URIReference) -> URIReference {
        var target = self
        if scheme == nil {
            target.scheme = base.scheme
            if authority == nil {
                target.authority = base.authority
                if path.isEmpty {
                    target.path = base.path
                    target.query = query ?? base.query
                    return target
                }
                if !path.utf8.starts(with: "/".utf8) { target.path = base.merging(path) }
            }
        }
        target.path = Self.removingDotSegments(target.path)
        return target
    }

    /// A relative path in the place of this path's last segment (5.2.3).
    private func merging(_ relative: String) -> String {
        if authority != nil, path.isEmpty { return "/" + relative }
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return relative }
        return String(path[...slash]) + relative
    }

    /// The path without its `.` and `..` (5.2.4).
    package static func removingDotSegments(_ path: String) -> String {
        var input = Array(path.utf8)[...]
        var output: [UInt8] = []
        while !input.isEmpty {
            if input.starts(with: "../".utf8) {
                input.removeFirst(3)
            } else if input.starts(with: "./".utf8) || input.starts(with: "/./".utf8) {
                input.removeFirst(2)
            } else if input.starts(with: "/../".utf8) {
                input.removeFirst(3)
                removeLastSegment(&output)
            } else if input.elementsEqual("/.".utf8) {
                input.removeLast()
            } else if input.elementsEqual("/..".utf8) {
                input.removeLast(2)
                removeLastSegment(&output)
            } else if input.elementsEqual(".".utf8) || input.elementsEqual("..".utf8) {
                input = []
            } else {
                let end = input.dropFirst().firstIndex(of: UInt8(ascii: "/")) ?? input.endIndex
                output += input[..<end]
                input = input[end...]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func removeLastSegment(_ output: inout [UInt8]) {
        output.removeSubrange((output.lastIndex(of: UInt8(ascii: "/")) ?? 0)...)
    }
}

extension StringProtocol {
    /// The bytes that a percent-encoded text stands for (RFC 3986, 2.1); a percent sign before anything else stands for
    /// itself.
    package var percentDecoded: [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            let digits =
                byte == UInt8(ascii: "%")
                ? rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue } : []
            if digits.count == 2 {
                bytes.append(UInt8(digits[0] << 4 | digits[1]))
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }
}
