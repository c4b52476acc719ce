/// Which events the machine has met in which states, and where that led.
package struct Coverage: Sendable, Hashable {
    /// A state, without what it knows; `none` is a download that is not here.
    package enum Place: String, Sendable, CaseIterable {
        case none, waiting, openingFile, requesting, transferring, closing, forgetting, discarding, verifying
        case announcing, moving, recording, waitingToRecord, suspended, failed, succeeded
    }

    /// An event, without what it brings.
    package enum Kind: String, Sendable, CaseIterable {
        case add, start, downloadAgain, suspend, cancel, remove, reorder, expectDigest, admit, tick, network
        case opened, wrote, synced, verified, published, fileFailed, closed, discarded
        case recorded, recordFailed
        case head, redirected, received, holds, resumeData, ended, overflowed, exchangeFailed
    }

    /// One event that was met.
    package struct Step: Sendable, Hashable {
        package var from: Place
        package var event: Kind
        package var to: Place

        package init(from: Place, event: Kind, to: Place) {
            self.from = from
            self.event = event
            self.to = to
        }
    }

    /// How often each was met.
    package private(set) var counts: [Step: Int] = [:]

    package init() {}

    package mutating func note(_ step: Step) {
        counts[step, default: 0] += 1
    }

    package mutating func add(_ other: Coverage) {
        counts.merge(other.counts, uniquingKeysWith: +)
    }
}

extension Coverage.Place {
    init(_ state: State) {
        self =
            switch state {
            case .waiting: .waiting
            case .opening(let opening): opening.step == .file ? .openingFile : .requesting
            case .transferring: .transferring
            case .pausing(let pausing): Coverage.Place(pausing.step)
            case .verifying: .verifying
            case .publishing(let publishing): Coverage.Place(publishing.step)
            case .suspended: .suspended
            case .failed: .failed
            case .succeeded: .succeeded
            }
    }

    private init(_ step: Pausing.Step) {
        self =
            switch step {
            case .closing: .closing
            case .forgetting: .forgetting
            case .discarding: .discarding
            }
    }

    private init(_ step: Publishing.Step) {
        self =
            switch step {
            case .announcing: .announcing
            case .moving: .moving
            case .recording: .recording
            case .waitingToRecord: .waitingToRecord
            }
    }
}

extension Coverage.Kind {
    init(_ verb: Verb) {
        self =
            switch verb {
            case .start: .start
            case .downloadAgain: .downloadAgain
            case .suspend: .suspend
            case .cancel: .cancel
            case .remove: .remove
            }
    }

    init(_ event: FileEvent) {
        self =
            switch event {
            case .opened: .opened
            case .wrote: .wrote
            case .synced: .synced
            case .verified: .verified
            case .published: .published
            case .failed: .fileFailed
            case .closed: .closed
            case .discarded: .discarded
            }
    }

    init(_ event: StoreEvent) {
        self =
            switch event {
            case .recorded: .recorded
            case .failed: .recordFailed
            }
    }

    init(_ event: ExchangeEvent) {
        self =
            switch event {
            case .head: .head
            case .redirected: .redirected
            case .received: .received
            case .holds: .holds
            case .resumeData: .resumeData
            case .ended: .ended
            case .overflowed: .overflowed
            case .failed: .exchangeFailed
            }
    }
}
