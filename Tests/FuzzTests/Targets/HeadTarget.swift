import LannerCore
import LannerMachine

@testable import LannerCurl

/// The header of a response, as libcurl hands it over.
extension FuzzTarget {
    /// Its lines.
    static let head = FuzzTarget("head") { bytes in
        var reader = HeadReader()
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            let failure = Array(line + [0x0A]).withUnsafeBytes { reader.add($0) }
            if let failure {
                return try promise(!failure.message.hasControls, "\(failure.message) has control characters")
            }
        }
        switch Result(catching: { () throws(TransportFailure) in try reader.take() }) {
        case .success(let head):
            try head.map(check)
            try promise((try? reader.take()) == .some(nil), "the head can be taken twice")
        case .failure(let failure):
            try promise(!failure.message.hasControls, "\(failure.message) has control characters")
        }
    }

    private static func check(_ head: ResponseHead) throws {
        try promise((200...999).contains(head.status), "\(head.status) is no status of an answer")
        for field in head.fields.fields {
            try promise(FieldText.isToken(field.name), "\(field.name) is no name")
            try promise(!field.value.utf8.contains(0x0A), "\(field.value) is more than a line")
        }
    }
}

extension String {
    /// What terminals act on.
    fileprivate var hasControls: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
