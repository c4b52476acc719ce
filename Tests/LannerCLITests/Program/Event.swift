import Foundation

/// An event of `--json`.
struct Event: Decodable, Equatable {
    var event: String
    var url: String
    var file: String
    var bytes: Int64
    var total: Int64?
    var speed: Int64
    var code: String?
    var verified: Bool?

    init(_ line: String) throws {
        self = try JSONDecoder().decode(Event.self, from: Data(line.utf8))
    }
}
