import Foundation

/// A resource with what was computed of it when it was put in its place.
struct Published: Sendable {
    let resource: LoopbackServer.Resource
    let entityTag: String?

    init(_ resource: LoopbackServer.Resource) {
        self.resource = resource
        entityTag = resource.entityTagText
    }

    /// The fields that tell one version from another.
    var validators: LoopbackServer.Fields {
        var fields = LoopbackServer.Fields()
        fields["ETag"] = entityTag
        fields["Last-Modified"] = resource.lastModified.map(HTTPDate.text)
        return fields
    }

    /// The fields of a 200.
    var fields: LoopbackServer.Fields {
        var fields = validators
        fields["Accept-Ranges"] = resource.acceptsRanges ? "bytes" : "none"
        fields["Content-Type"] = "application/octet-stream"
        fields.override(with: resource.fields)
        return fields
    }
}

/// What is where, and how the next requests are answered.
struct Site: Sendable {
    private var resources: [String: Published] = [:]
    private var scripts: [String: ArraySlice<LoopbackServer.Step>] = [:]
    private var standing: [String: LoopbackServer.Step] = [:]

    /// A path as it is compared: with the slash at its beginning.
    static func normalized(_ path: String) -> String {
        path.utf8.first == UInt8(ascii: "/") ? path : "/" + path
    }

    mutating func put(_ published: Published?, at path: String) {
        resources[path] = published
    }

    func resource(at path: String) -> Published? {
        resources[path]
    }

    mutating func script(_ steps: [LoopbackServer.Step], at path: String) {
        scripts[path, default: []] += steps
    }

    mutating func always(_ step: LoopbackServer.Step?, at path: String) {
        standing[path] = step
    }

    mutating func clearScript(at path: String) {
        scripts[path] = nil
        standing[path] = nil
    }

    /// The step for the next request of a path, taken off its script, and the resource to serve.
    mutating func take(_ path: String) -> (step: LoopbackServer.Step, published: Published?) {
        let step = scripts[path]?.popFirst() ?? standing[path] ?? .pass
        if case .changeTo(let resource) = step { resources[path] = Published(resource) }
        return (step, resources[path])
    }
}
