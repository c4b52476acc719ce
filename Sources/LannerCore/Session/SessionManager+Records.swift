extension SessionManager {
    /// Returns when all that was asked of the manager before is on record, so that neither the death of the process nor that
    /// of the machine takes it back.
    ///
    /// Calls return, and the handlers of `download` are called, before that: what comes together goes to the store in one
    /// commit. Wait for this where something else relies on it, as a server that is told that it need not remember any more
    /// what is to be downloaded. The bytes of unfinished files have their own pace, which is every few seconds. It waits as
    /// long as the store does, also when the Swift task is canceled.
    ///
    /// - Throws: ``LannerError/storeError(_:)`` when the store could not keep all of it, which is tried again by itself and by
    ///   the next call of this; ``LannerError/invalidated`` when the manager was invalidated, or cannot be used.
    public func synchronize() async throws(LannerError) {
        let error = await withCheckedContinuation { continuation in
            engine.synchronize { continuation.resume(returning: $0) }
        }
        if let error { throw error }
    }
}
