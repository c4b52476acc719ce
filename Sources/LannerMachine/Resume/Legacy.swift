/// What an exchange of an earlier process has left that was stopped before anybody here took it up.
package struct Legacy: Sendable, Hashable {
    /// Resume data: opaque to all but the transport.
    package var bytes: [UInt8]
    /// How much of the file they stand for; nil when there was no answer yet: for as much as those it began with.
    package var held: Int64?
    /// Where its answer went on with earlier data, if that was not seen to be where they end.
    package var joint: Int64?

    package init(_ bytes: [UInt8], held: Int64?, joint: Int64? = nil) {
        self.bytes = bytes
        self.held = held
        self.joint = joint
    }

    /// What there is to go on with; nil when the bytes it stands for have a gap.
    func data(after earlier: ResumeData?) -> ResumeData? {
        guard joint == nil || joint == earlier?.held else { return nil }
        return ResumeData(bytes, held: held ?? earlier?.held ?? 0)
    }
}
