import LannerMachine

/// The pairs of state and event that cannot come about, and why.
struct Unreachable {
    typealias Place = Coverage.Place
    typealias Kind = Coverage.Kind

    /// Events that come in some states only.
    private struct Rule {
        var kinds: Set<Kind>
        var places: Set<Place>
        var reason: String
    }

    private static let rules = [
        Rule(kinds: [.add], places: [.none], reason: "A download is added once."),
        Rule(
            kinds: [.network],
            places: [.waiting, .openingFile, .asking, .requesting, .transferring, .closing, .verifying],
            reason: "Whoever neither holds a slot nor waits for a network is not told of it."),
        Rule(
            kinds: [.unshelve],
            places: Set(Place.allCases).subtracting([
                .none, .openingFile, .asking, .requesting, .transferring, .verifying,
            ]),
            reason: "Who is not wanted is not under way."),
        Rule(
            kinds: [.settle],
            places: Set(Place.allCases).subtracting([
                .none, .asking, .requesting, .transferring, .verifying, .failed, .succeeded,
            ]),
            reason: "Only who is stopping is asked, or has stopped at that moment."),
        Rule(kinds: [.startAdded], places: [.suspended], reason: "Only who was added, and not started, is asked."),
        Rule(kinds: [.downloadAgain], places: [.succeeded], reason: "Only a finished file can be gone."),
        Rule(kinds: [.admit], places: [.waiting], reason: "Who waits is in the queue, nobody else."),
        Rule(
            kinds: [.tick], places: [.waiting, .asking, .requesting, .transferring, .waitingToRecord],
            reason: "The other states have no deadline."),
        Rule(
            kinds: [.recorded, .recordFailed],
            places: [.keeping, .forgetting, .announcing, .readdressing, .recording, .disowning],
            reason: "Only these wait for the store, and none is left before it has answered."),
        Rule(kinds: [.discarded], places: [.discarding], reason: "Files are removed there, and waited for."),
        Rule(kinds: [.published, .placeTaken], places: [.moving], reason: "A file is moved there, and waited for."),
        Rule(kinds: [.verified], places: [.verifying], reason: "A file is finished there, and waited for."),
        Rule(kinds: [.closed], places: [.closing], reason: "A file is closed there, and waited for."),
        Rule(
            kinds: [.opened], places: [.openingFile, .transferring, .closing],
            reason: "A file is opened before the first request, or with the answer that begins it anew."),
        Rule(kinds: [.wrote], places: [.transferring, .closing], reason: "Elsewhere it is late: none is expected."),
        Rule(kinds: [.synced], places: [.transferring], reason: "Elsewhere it is late: the end syncs by itself."),
        Rule(
            kinds: [.damaged], places: [.asking, .requesting, .transferring, .verifying],
            reason: "Pieces are compared while the file is open; elsewhere it is late."),
        Rule(
            kinds: [.fileFailed],
            places: [.openingFile, .asking, .requesting, .transferring, .verifying, .moving],
            reason: "The file is closed in every other state, or about to be, or moved."),
        Rule(
            kinds: [.linkGiven, .linkNone, .linkFailed], places: [.asking],
            reason: "Elsewhere it is late: the question was given up."),
        Rule(
            kinds: [.inherit], places: [.waiting, .suspended],
            reason: "Elsewhere it is late: another exchange was begun, or the exchange was given up."),
        Rule(
            kinds: [.head, .redirected, .exchangeFailed, .heldBack], places: [.requesting, .transferring],
            reason: "Elsewhere it is late: the exchange was stopped."),
        Rule(
            kinds: [.received, .ended, .overflowed], places: [.transferring],
            reason: "Elsewhere it is late, and the head comes first."),
        Rule(
            kinds: [.holds, .resumeData], places: [.transferring, .closing],
            reason: "Elsewhere it is late: what an exchange leaves is waited for in closing."),
        Rule(
            kinds: [
                .start, .suspend, .cancel, .remove, .shelve, .unshelve, .readdress, .expectDigest, .expectPieces,
                .expectLink, .relist, .reorder, .prioritize, .limit,
            ],
            places: Set(Place.allCases).subtracting([.none]),
            reason: "The engine does not ask for what is not there."),
        Rule(
            kinds: [.expectDigest, .expectPieces, .relist, .readdress, .prioritize, .limit],
            places: Set(Place.allCases).subtracting([.keeping, .forgetting, .discarding]),
            reason: "Whoever asks for the URL of a download on its way out gets another download."),
    ]

    /// Why an event cannot come in a state; nil when it can.
    static func reason(_ kind: Kind, in place: Place) -> String? {
        if let rule = rules.first(where: { $0.kinds.contains(kind) && !$0.places.contains(place) }) {
            return rule.reason
        }
        return nil
    }
}

/// Compares what the machine has met with what it can meet.
struct Table {
    private let coverage: Coverage

    init(_ coverage: Coverage) {
        self.coverage = coverage
    }

    /// Prints what differs; whether nothing does.
    func check() -> Bool {
        var (met, differing) = (0, 0)
        for place in Coverage.Place.allCases {
            for kind in Coverage.Kind.allCases {
                let isMet = coverage.count(kind, in: place) > 0
                if isMet { met += 1 }
                guard isMet == (Unreachable.reason(kind, in: place) != nil) else { continue }
                differing += 1
                print("\(kind) in \(place) " + (isMet ? "was met, and is said to be impossible" : "was never met"))
            }
        }
        print("\(met) pairs of state and event were met, \(differing) are not as they should be")
        return differing == 0
    }
}
