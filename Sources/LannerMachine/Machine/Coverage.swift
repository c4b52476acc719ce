/// Which events the machine has met in which states, and where that led.
package struct Coverage: Sendable, Hashable {
    /// A state, without what it knows; `none` is a download that is not here.
    package enum Place: Int, Sendable, CaseIterable {
        case none, waiting, openingFile, asking, requesting, transferring, closing, keeping, forgetting, discarding,
            verifying
        case announcing, moving, readdressing, recording, waitingToRecord, disowning, suspended, failed, succeeded
    }

    /// An event, without what it brings; `late` is one that is of no interest any more, such as the last word of an
    /// exchange that was stopped: whatever it is, nothing comes of it.
    package enum Kind: Int, Sendable, CaseIterable {
        case add, start, startAdded, downloadAgain, suspend, cancel, remove, shelve, unshelve, settle
        case reorder, relist, readdress, prioritize, limit, expectDigest, expectPieces, expectLink, admit, tick, network
        case opened, wrote, synced, damaged, verified, published, placeTaken, fileFailed, closed, discarded
        case recorded, recordFailed
        case linkGiven, linkNone, linkFailed
        case head, redirected, received, holds, resumeData, heldBack, ended, overflowed, exchangeFailed, inherit
        case late
    }

    private static let kinds = Kind.allCases.count

    /// How often each event was met in each state, state by state.
    private var counts = [Int](repeating: 0, count: Place.allCases.count * kinds)
    /// Where that led: a bit for each state.
    private var targets = [UInt32](repeating: 0, count: Place.allCases.count * kinds)

    package init() {}

    mutating func note(_ kind: Kind, from: Place, to: Place) {
        let index = from.rawValue * Self.kinds + kind.rawValue
        counts[index] += 1
        targets[index] |= 1 << UInt32(to.rawValue)
    }

    /// How often an event was met in a state.
    package func count(_ kind: Kind, in place: Place) -> Int {
        counts[place.rawValue * Self.kinds + kind.rawValue]
    }

    /// Where an event led from a state.
    package func targets(of kind: Kind, in place: Place) -> [Place] {
        let bits = targets[place.rawValue * Self.kinds + kind.rawValue]
        return Place.allCases.filter { bits & 1 << UInt32($0.rawValue) != 0 }
    }

    package mutating func add(_ other: Coverage) {
        for index in counts.indices {
            counts[index] += other.counts[index]
            targets[index] |= other.targets[index]
        }
    }
}

extension Coverage.Place {
    package init(_ state: State) {
        self =
            switch state {
            case .waiting: .waiting
            case .opening(let opening): Coverage.Place(opening.step)
            case .transferring: .transferring
            case .pausing(let pausing): Coverage.Place(pausing.step)
            case .verifying: .verifying
            case .publishing(let publishing): Coverage.Place(publishing.step)
            case .suspended: .suspended
            case .failed: .failed
            case .succeeded: .succeeded
            }
    }

    private init(_ step: Opening.Step) {
        self =
            switch step {
            case .file: .openingFile
            case .link: .asking
            case .request: .requesting
            }
    }

    private init(_ step: Pausing.Step) {
        self =
            switch step {
            case .closing: .closing
            case .keeping: .keeping
            case .forgetting: .forgetting
            case .discarding: .discarding
            }
    }

    private init(_ step: Publishing.Step) {
        self =
            switch step {
            case .announcing: .announcing
            case .moving: .moving
            case .readdressing: .readdressing
            case .recording: .recording
            case .waitingToRecord: .waitingToRecord
            case .disowning: .disowning
            }
    }
}

extension Coverage.Kind {
    init(_ verb: Verb) {
        self =
            switch verb {
            case .start: .start
            case .startAdded: .startAdded
            case .downloadAgain: .downloadAgain
            case .suspend: .suspend
            case .cancel: .cancel
            case .remove: .remove
            case .shelve: .shelve
            case .unshelve: .unshelve
            case .settle: .settle
            }
    }

    init(_ event: FileEvent) {
        self =
            switch event {
            case .opened: .opened
            case .wrote: .wrote
            case .synced: .synced
            case .damaged: .damaged
            case .verified: .verified
            case .published: .published
            case .placeTaken: .placeTaken
            case .unconfirmed, .failed: .fileFailed
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

    init(_ event: LinkEvent) {
        self =
            switch event {
            case .given: .linkGiven
            case .none: .linkNone
            case .failed: .linkFailed
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
            case .heldBack: .heldBack
            case .ended: .ended
            case .overflowed: .overflowed
            case .failed: .exchangeFailed
            }
    }
}
