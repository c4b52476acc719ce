/// The header fields of a request or a response: in order, names compared without case (RFC 9110, 5.1).
///
/// A name may occur more than once; `values(of:)` gives every line, the subscript the first.
public struct HeaderFields: Sendable, Hashable {
    /// One line of a header.
    public struct Field: Sendable, Hashable {
        /// The name as it was given.
        public var name: String
        /// The value, without the white space around it.
        public var value: String

        /// Makes one line.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The lines, in order.
    public private(set) var fields: [Field]

    /// An empty header, or one of the given lines, kept in their order.
    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// The first value of a name. Setting replaces every line of that name; nil removes them.
    public subscript(name: String) -> String? {
        get { fields.indices.first { isLine($0, of: name) }.map { fields[$0].value } }
        set {
            fields.removeAll { Self.same($0.name, name) }
            if let newValue { fields.append(Field(name: name, value: newValue)) }
        }
    }

    /// Every value of a name, in order.
    public func values(of name: String) -> [String] {
        var values: [String] = []
        for index in fields.indices where isLine(index, of: name) { values.append(fields[index].value) }
        return values
    }

    /// The value of a name that has one: none when its lines contradict each other.
    func onlyValue(of name: String) -> String? {
        values(of: name).agreed
    }

    /// Whether a line is one of a name. Most are told apart by their lengths.
    private func isLine(_ index: Int, of name: String) -> Bool {
        fields[index].name.utf8.count == name.utf8.count && Self.same(fields[index].name, name)
    }

    /// Adds a line, leaving earlier lines of the same name.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Goes on with the value of the last line (RFC 9112, 5.2); does nothing where there is none.
    package mutating func continueLast(with text: String) {
        guard !fields.isEmpty else { return }
        fields[fields.count - 1].value += " " + text
    }

    /// Whether two field names are the same name: ASCII letters compare without case.
    public static func same(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        var (left, right) = (left, right)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                zip(left, right).allSatisfy { $0 == $1 || FieldText.lowercased($0) == FieldText.lowercased($1) }
            }
        }
    }
}

extension HeaderFields: ExpressibleByDictionaryLiteral {
    /// Makes a header from a literal, in its order.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Field(name: $0.0, value: $0.1) })
    }
}

extension Array where Element: Equatable {
    /// The one that all are; nil when they differ, or there are none.
    var agreed: Element? { dropFirst().allSatisfy { $0 == self[0] } ? first : nil }
}
