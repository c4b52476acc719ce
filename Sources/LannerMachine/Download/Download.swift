/// One download's life, as a value. Told what happened, it changes and says what to do; it does nothing itself.
///
/// The files beside this one hold its events by topic.
package struct Download: Sendable {
    package let id: DownloadID
    package internal(set) var state: State
    /// Its place in the order: less is sooner.
    package internal(set) var rank: Int64
    /// The list whose limit it keeps.
    package internal(set) var list: String?
    /// The host whose limit it keeps: that of its URL. While it runs, that of the URL it began with counts.
    package internal(set) var host: HostID
    /// Who gets a slot first, before the order.
    package internal(set) var priority: DownloadPriority
    /// The most bytes a second that it may take; nil for no bound of its own.
    var rateLimit: Int64?
    /// Whether it is not wanted for the time being.
    var isShelved: Bool
    /// Whether it was added without being started, and nothing was asked of it since.
    var isUnstarted: Bool
    package internal(set) var attempt: Attempt = 0

    /// The version that the bytes in hand belong to.
    @Apart var version: Version?
    var total: Int64?
    /// Which partial file holds the bytes.
    var generation: UInt32
    /// Bytes with the kernel, and with the device.
    var written: ByteRanges
    var synced: ByteRanges
    var hasDigest: Bool
    /// The sizes that the file may have, as far as its pieces tell.
    @Apart var sizes: ClosedRange<Int64>?
    /// Whether there may be a partial file on the disk.
    var hasFile: Bool
    /// Whether the file was moved to its place, and only its name or the record of it could not be kept.
    var isPublished = false
    /// Whether bytes of an earlier attempt are part of the file.
    var wasResumed = false
    /// Where bytes may be out of place, so that none of them counts: those of a file that the transport has put together from
    /// two answers, until its length shows that they meet; those of an answer whose framing has broken off.
    var unproven = ByteRanges()
    package var isUnproven: Bool { !unproven.isEmpty }
    /// Whether nothing but the digest ties some of the bytes to the others.
    package internal(set) var isTiedByDigest = false
    /// Whether bytes in hand may come from another URL than the one it has now, and from none of its mirrors.
    package internal(set) var isOfOtherURL: Bool
    /// Whether it was given another URL during this attempt, whose bytes are all of the one it began with.
    var goesOnWithOldURL = false
    /// Where the URL, or the mirror that told the version in hand, led to when that began.
    var oldWay = OldWay.none
    /// Whether a slice was refused or lost that was asked for beside another: for the rest of the attempt the one is waited
    /// for.
    var asksOneByOne = false
    /// How often in a row a file that came in one piece had another digest.
    var mismatches = 0
    /// How often the file was another one when the rest of it was asked for.
    var changes = 0
    /// How often in a row another server may have answered, which has the file under another tag.
    var otherTags: UInt8 = 0
    /// How often each piece was wrong.
    var pieceFailures: [Range<Int64>: Int] = [:]
    /// How often all of the file was fetched again for a piece: another may be wrong each time.
    var wholeRepairs = 0
    /// Whether bytes in hand were on record before the pieces they are compared with were.
    var isOlderThanPieces = false
    /// Whether other pieces were given since the file was verified.
    var hasOtherPieces = false
    var link: HeldLink
    /// Where the file may be asked for, and what mirrors there are from the next attempt on when that was changed.
    package internal(set) var mirrors: Mirrors
    @Apart var renewedMirrors: MirrorChange?
    /// Why the next attempt, or the present one, asks for the whole file: a mirror has another one, or parts of this one
    /// are refused, or of no use. What is held is given up when it comes, and not before. Nil when it goes on with that.
    var seeksWhole: RestartReason?
    /// What has come in the place of parts, and was not believed.
    var doubts = Doubts()
    /// What the transport holds of the file itself, when it hands it over in the end.
    var carried = Carried()
    /// Failures since bytes last advanced.
    var failures = 0
    /// Refusals of a host that was sending others, or had just done so, since then, and whether one has not been waited for
    /// yet.
    var crowdRefusals: UInt16 = 0
    var isCrowdedOut = false
    /// Whether it has not failed, and was not refused, since bytes last advanced.
    var isFresh: Bool { failures == 0 && crowdRefusals == 0 }
    /// Whether it has run, or waits to, or has come to an end: not one that has just been added.
    var isKnown: Bool {
        if case .suspended = state { return attempt > 0 }
        return true
    }
    /// The most bytes that were ever held, those of wrong pieces apart: only more than that is a gain.
    var highMark: Int64
    /// Which ways to resume have been tried without a gain.
    var ladder = RungLadder()
    /// Whether parts may be asked for.
    var partUse = PartUse.possible
    /// Whether the whole file has come the last time that a part was asked for, since its server sends none.
    var sendsWholes = false
    /// Whether the download has ended and is to be forgotten.
    package internal(set) var isGone = false

    init(_ new: NewDownload) {
        id = new.id
        rank = new.rank
        list = new.list
        host = new.host
        priority = new.priority
        rateLimit = new.rateLimit
        isShelved = new.isShelved
        isUnstarted = new.saved.isUnstarted && new.saved.status == .suspended
        attempt = new.lastAttempt
        mirrors = Mirrors(count: new.mirrors, ofVersion: new.saved.isOfOtherURL ? 0 : new.saved.source)
        isOfOtherURL = new.saved.isOfOtherURL || mirrors.ofVersion != new.saved.source
        hasDigest = new.hasDigest
        sizes = new.sizes
        link = HeldLink(expires: new.linkExpires)
        // A record comes from outside: what makes no sense in it is left out.
        let total = new.saved.total.flatMap { $0 < 0 ? nil : $0 }
        self.total = total
        _version = new.saved.$version
        generation = new.saved.generation
        written = new.saved.written.clipped(to: total ?? .max)
        // A file that was verified is whole, whatever else the record says.
        if new.saved.status == .succeeded || new.isMoving, let total, total > 0 { written.insert(0..<total) }
        synced = written.intersection(new.saved.synced)
        if written.isEmpty, let data = new.saved.resumeData, data.held >= 0 { carried = Carried(data) }
        highMark = max(written.count, carried.held)
        hasFile = new.saved.generation > 0
        isPublished = new.saved.isPublished && new.saved.status != .succeeded
        switch new.saved.status {
        case .publishing where new.isMoving: state = .publishing(Publishing(step: .moving))
        case .active, .suspended, .publishing: state = .suspended
        case .failed(let failure): state = .failed(failure)
        case .succeeded: state = .succeeded
        }
        // Nobody knows whether the bytes came in one piece, unless they were verified, or it is on record.
        let tie = version?.rung(hasDigest: false) ?? Rung.none
        let isOfOneVersion = new.saved.status == .publishing || new.saved.isOfOneVersion && isComplete
        isTiedByDigest = !written.isEmpty && tie >= .digestOnly && !isOfOneVersion
    }
}

/// What a download wants from the queue of slots.
enum SlotClaim: Equatable {
    case none
    case wants
    case holds
    /// That of its list and that of its host, though none of all any more: it still runs.
    case holdsPart

    /// Whether of a slot at least a part is held.
    var isHeld: Bool { self == .holds || self == .holdsPart }
}

extension Download {
    /// What the download wants from the queue of slots.
    var slotClaim: SlotClaim {
        switch state {
        case .waiting(.slot): .wants
        case .waiting(.retry), .waiting(.network), .waiting(.disk), .waiting(.shelved): .none
        case .opening: .holds
        case .transferring(let transfer): transfer.hasPart ? .holdsPart : .holds
        case .verifying(let verifying): verifying.hasPart ? .holdsPart : .holds
        case .publishing: .holdsPart
        case .pausing(let pausing): pausing.step != .closing ? .none : pausing.hasPart ? .holdsPart : .holds
        case .suspended, .failed, .succeeded: .none
        }
    }

    /// Whether it runs, or its file is being closed, and not for an exchange that is out.
    var isAtWork: Bool {
        switch state {
        case .opening(let opening): if case .request = opening.step { false } else { true }
        case .transferring(let transfer): transfer.exchanges.isEmpty
        case .pausing, .verifying, .publishing: true
        case .waiting, .suspended, .failed, .succeeded: false
        }
    }

    /// Whether bytes have come in this attempt, and more are to come from the download's own URL.
    var isReceiving: Bool {
        guard case .transferring(let transfer) = state, transfer.arrived > 0 else { return false }
        // Between two slices there is no answer.
        return transfer.exchanges.contains { $0.ask.source == 0 && ($0.isAccepted || mirrors.count == 0) }
    }

    /// Whether more than one exchange is out for the download's own URL.
    var usesSeveralExchanges: Bool {
        guard case .transferring(let transfer) = state else { return false }
        return transfer.exchanges.count { $0.ask.source == 0 } > 1
    }

    /// Whether its file is being closed, or its files are being removed, whatever follows.
    var isPausing: Bool {
        if case .pausing = state { true } else { false }
    }

    /// When the download wants to be looked at again, if nothing else happens before.
    func deadline(now: Duration) -> Duration? {
        switch state {
        case .waiting(.retry(let time)), .waiting(.disk(let time)): time
        case .waiting(.network): now + Pace.networkWait
        case .opening(let opening):
            switch opening.step {
            case .file: nil
            case .link, .request: now + Pace.tick
            }
        case .transferring: now + Pace.tick
        case .publishing(let publishing):
            switch publishing.step {
            case .waitingToRecord(let time): time
            case .announcing, .moving, .readdressing, .recording, .disowning: nil
            }
        case .waiting(.slot), .waiting(.shelved), .pausing, .verifying, .suspended, .failed, .succeeded: nil
        }
    }

    /// Where the download stands, as a user sees it.
    package var phase: Phase {
        switch state {
        case .waiting(let reason): .waiting(reason)
        case .opening, .transferring, .verifying: .running
        case .publishing(let publishing): publishing.afterwards.map(phase) ?? .running
        case .pausing(let pausing): phase(of: pausing.intent)
        case .suspended: .suspended
        case .failed(let failure): .failed(failure)
        case .succeeded: .succeeded
        }
    }

    private func phase(of intent: Pausing.Intent) -> Phase {
        switch intent {
        case .suspend: .willSuspend
        case .cancel: .willCancel
        case .remove: .willRemove
        case .restart: .waiting(.slot)
        case .wait(let reason): .waiting(reason)
        case .fail: .running
        }
    }

    /// Whether the finished file is in its place, or on its way there: its name is on record.
    package var hasPlace: Bool {
        switch state {
        case .publishing, .succeeded: true
        case .waiting, .opening, .transferring, .pausing, .verifying, .suspended, .failed: isPublished
        }
    }

    /// What the store should remember of the download now.
    package var saved: Saved {
        var saved = Saved(
            status: savedStatus, generation: generation,
            written: proven(written), synced: proven(synced), total: total,
            resumeData: carried.data, isUnstarted: isUnstarted)
        saved.$version = $version
        saved.isOfOtherURL = isOfOtherURL || losesMirror
        saved.source = isOfMirror && !saved.isOfOtherURL ? mirrors.ofVersion : 0
        saved.isLeftover = isBeingKept
        saved.isPublished = isPublishedAsAsked && saved.status != .succeeded
        saved.isOfOneVersion = isComplete && !isTiedByDigest
        return saved
    }

    /// Those that count.
    func proven(_ bytes: ByteRanges) -> ByteRanges {
        var bytes = bytes
        for range in unproven.ranges { bytes.remove(range) }
        return bytes
    }

    /// Whether it is on its way out, and its record marked as one that only keeps bytes.
    private var isBeingKept: Bool {
        if case .pausing(let pausing) = state { pausing.step == .keeping } else { false }
    }

    /// Bytes in hand, as a user sees them.
    var completed: Int64 { max(written.count, carried.held) }

    private var savedStatus: Saved.Status {
        switch state {
        case .waiting, .opening, .transferring, .verifying: .active
        case .pausing(let pausing):
            switch pausing.intent {
            case .suspend, .cancel, .remove: .suspended
            case .restart, .wait: .active
            case .fail(let failure): .failed(failure)
            }
        case .publishing(let publishing):
            switch publishing.step {
            case .announcing, .moving, .readdressing: .publishing
            case .recording, .waitingToRecord: .succeeded
            case .disowning: .active
            }
        case .suspended: .suspended
        case .failed(let failure): .failed(failure)
        case .succeeded: .succeeded
        }
    }

    /// Goes to another state and tells it when a user can see the difference.
    mutating func go(to next: State, _ context: inout Context) {
        let before = phase
        state = next
        if phase != before { tell(.status(phase), &context) }
    }

    /// Records where the download stands.
    mutating func record(_ need: RecordNeed, _ context: inout Context) {
        perform(.record(saved, need), &context)
    }
}
