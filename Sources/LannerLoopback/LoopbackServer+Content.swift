extension LoopbackServer {
    /// Puts a resource at a path, in the place of the one that is there. Answers under way keep theirs.
    public func put(_ path: String, _ resource: Resource) {
        let published = Published(resource)
        host.state.withLock { $0.site.put(published, at: Site.normalized(path)) }
    }

    /// Removes the resource of a path, which is answered with 404 from now on.
    public func remove(_ path: String) {
        host.state.withLock { $0.site.put(nil, at: Site.normalized(path)) }
    }

    /// Adds steps for the next requests of a path, one for each, after those that are still waiting.
    ///
    /// A path needs no resource when its steps need none.
    public func script(_ path: String, _ steps: [Step]) {
        host.state.withLock { $0.site.script(steps, at: Site.normalized(path)) }
    }

    /// Sets the step for all requests of a path that its script leaves over; nil for none.
    public func always(_ path: String, _ step: Step?) {
        host.state.withLock { $0.site.always(step, at: Site.normalized(path)) }
    }

    /// Drops what is left of a path's script, and its standing step.
    public func clearScript(_ path: String) {
        host.state.withLock { $0.site.clearScript(at: Site.normalized(path)) }
    }

    /// The most bytes of body each connection sends in a second; nil for as many as go. Also for answers under way.
    public var bytesPerSecond: Int? {
        get { host.state.withLock { $0.bytesPerSecond } }
        set { host.state.withLock { $0.bytesPerSecond = newValue.map { max(1, $0) } } }
    }

    /// Lets all answers go on that a `stall` or `hold` step holds back now. Later stalls wait for the next call.
    ///
    /// - Throws: ``Failure/system(call:code:)`` when no file descriptor is left; then nothing goes on.
    public func release() throws(Failure) {
        let next = try Gate()
        let opened = host.state.withLock { state in
            defer { state.release = next }
            return state.release
        }
        opened.open()
    }
}
