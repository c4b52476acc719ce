extension LoopbackServer {
    /// Header fields in order; names are compared without case (RFC 9110, 5.1).
    public struct Fields: Sendable, Hashable, ExpressibleByDictionaryLiteral {
        /// One line of a header.
        public struct Line: Sendable, Hashable {
            /// The name as it was given or received.
            public var name: String
            /// The value, without the white space around it.
            public var value: String
        }

        /// The lines in order.
        public private(set) var lines: [Line] = []

        /// No fields.
        public init() {}

        /// Makes fields from a literal, in its order; a name may occur more than once.
        public init(dictionaryLiteral elements: (String, String)...) {
            lines = elements.map { Line(name: $0.0, value: $0.1) }
        }

        /// The first value of a name. Setting replaces all lines of the name, in the place of the first; nil removes them.
        public subscript(name: String) -> String? {
            get { lines.first { Fields.same($0.name, name) }?.value }
            set { replace(name, with: newValue.map { [$0] } ?? []) }
        }

        /// Every value of a name, in order.
        public func values(of name: String) -> [String] {
            lines.filter { Fields.same($0.name, name) }.map(\.value)
        }

        /// Adds a line, leaving those of the same name.
        public mutating func append(_ name: String, _ value: String) {
            lines.append(Line(name: name, value: value))
        }

        /// Takes over all lines of `other`; its names replace those that are here.
        mutating func override(with other: Fields) {
            for line in other.lines { self[line.name] = nil }
            lines += other.lines
        }

        private mutating func replace(_ name: String, with values: [String]) {
            let place = lines.firstIndex { Fields.same($0.name, name) } ?? lines.count
            lines.removeAll { Fields.same($0.name, name) }
            lines.insert(contentsOf: values.map { Line(name: name, value: $0) }, at: place)
        }

        static func same(_ left: String, _ right: String) -> Bool {
            guard left.utf8.count == right.utf8.count else { return false }
            var (left, right) = (left, right)
            return left.withUTF8 { left in
                right.withUTF8 { right in left.indices.allSatisfy { lowercased(left[$0]) == lowercased(right[$0]) } }
            }
        }

        private static func lowercased(_ byte: UInt8) -> UInt8 {
            byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
        }
    }
}
