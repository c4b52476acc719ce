/// What the command line asks for.
struct Plan {
    var seeds: Range<UInt64> = 0..<1000
    var steps = 1000
    var replayed: UInt64?
    var printsCoverage = false
    var printsTrace = false
    var stopsAtFailure = false

    struct Misuse: Error, CustomStringConvertible {
        let description: String
    }

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--seeds": seeds = try Self.range(rest.popFirst())
            case "--steps": steps = Int(try Self.number(rest.popFirst(), option))
            case "--replay": replayed = try Self.number(rest.popFirst(), option)
            case "--trace": printsTrace = true
            case "--coverage": printsCoverage = true
            case "--until-failure": stopsAtFailure = true
            default: throw Misuse(description: "lanner-sim: unknown option \(option)")
            }
        }
    }

    private static func range(_ text: String?) throws -> Range<UInt64> {
        let bounds = (text ?? "").split(separator: ".", omittingEmptySubsequences: true).map {
            UInt64($0.drop { $0 == "<" })
        }
        guard bounds.count == 2, let first = bounds[0], let end = bounds[1], first < end else {
            throw Misuse(description: "lanner-sim: --seeds wants a range such as '0..<1000'")
        }
        return first..<end
    }

    private static func number(_ text: String?, _ option: String) throws -> UInt64 {
        guard let number = text.flatMap({ UInt64($0) }), number <= 1 << 40 else {
            throw Misuse(description: "lanner-sim: \(option) wants a number")
        }
        return number
    }
}
