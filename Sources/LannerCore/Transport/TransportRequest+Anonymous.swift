import LannerMachine

extension TransportRequest {
    /// Whether everybody may see its header fields, as where a system follows redirects by itself.
    package var isAnonymous: Bool {
        fields.fields.allSatisfy { HeaderFields.isAnonymous($0.name) }
    }
}

extension HeaderFields {
    /// Whether everybody may see a field of this name.
    package static func isAnonymous(_ name: String) -> Bool {
        ["Accept", "Accept-Encoding", "Accept-Language", "If-Range", "Range", "User-Agent"].contains { same($0, name) }
    }
}
