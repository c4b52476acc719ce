/// Takes choices and texts from the front of an input; all zeros once it is used up.
struct Feed {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// A number from 0 up to, without, a bound of at most 256.
    mutating func below(_ bound: Int) -> Int { Int(byte()) % bound }

    /// A number from 0 up to, without, a bound of at most 65,536.
    mutating func wide(below bound: Int) -> Int { (Int(byte()) << 8 | Int(byte())) % bound }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// What comes up to the next line feed, which is taken too.
    mutating func line() -> String {
        let line = rest.prefix { $0 != 0x0A }
        rest = rest.dropFirst(line.count + 1)
        return String(decoding: line, as: UTF8.self)
    }

    /// All lines that are left.
    mutating func lines() -> [String] {
        defer { rest = [] }
        return rest.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }
}
