/// What the machine wants done. The engine does it in order, outside the lock, and reports back with events.
///
/// There may be hundreds of thousands at once: what is large in a few of them lives outside.
package enum Action: Sendable, Equatable {
    /// Of the files of an attempt; answered by an event of the file.
    case file(DownloadID, Attempt, FileAction)
    /// Of the transport.
    case transport(DownloadID, TransportAction)
    /// Of whoever gives links.
    case link(DownloadID, Attempt, LinkAction)
    /// Of the record of a download.
    case store(DownloadID, Attempt, StoreAction)
    /// Something changed that a user may see.
    case tell(DownloadID, Notice)
    /// An event that came too late or makes no sense here; for the log.
    case ignored(DownloadID, IgnoredReason)
    /// The verbs of this ticket have come to rest.
    case answer(Ticket)
    /// Send the timer event at this time.
    case wake(at: Duration)
}

/// What is to be done with the files of a download.
package enum FileAction: Sendable, Equatable {
    /// Open the partial file: `claimed` bytes of `generation` should be there. → opened, failed
    case open(generation: UInt32, claimed: ByteRanges, total: Int64?)
    /// Leave the open partial file and begin an empty one; the exchange that was kept goes on into it. → opened, failed
    case startOver(generation: UInt32, total: Int64?)
    /// The size is known now: set space aside. → failed
    case setTotal(Int64)
    /// The server has told the digest of the file: it is what the file is compared with, unless the user gave one.
    case expect(ServerDigest)
    /// Sync what is written. → synced
    case sync
    /// All bytes are there: check the size and the digest, sync. → verified, failed
    case verify(total: Int64)
    /// Close the partial file and move it to its place, unless it was moved and is still there. → published, placeTaken,
    /// failed; it is closed after any
    case publish
    /// Close the partial file; unless it is synced nobody wants what is yet to be written. → closed
    case close(sync: Bool)
    /// Remove the file that was moved to its place, if it is still there.
    case withdraw
    /// Remove the partial files, and the finished one if asked. → discarded
    case discard(finished: Bool)
}

/// What is to be done with the exchanges of a download.
package enum TransportAction: Sendable, Equatable {
    /// Begin an exchange. → head, received, ended, failed
    indirect case begin(ExchangeNumber, Ask)
    /// Write the body of the exchange to these positions of the file.
    case accept(ExchangeNumber, Range<Int64>)
    /// Let the body of the exchange end at this position: what comes behind it is another's. → ended
    case cut(ExchangeNumber, at: Int64)
    /// Look at a redirect of the exchange. → redirected, failed
    case follow(ExchangeNumber, location: String)
    /// End the exchange, if it has not come to its end meanwhile; hand over what it has received if `keepBytes`.
    case stop(ExchangeNumber, keepBytes: Bool)
    /// From the next attempt on the requests go to the URL that was last given.
    case readdress
    /// Requests begin at the first URL of their place again: where redirects led to has expired.
    case leadBack
    /// Remember where the exchange went.
    case keepWay(ExchangeNumber)
    /// Requests to a place go where that was.
    case takeOldWay(Source)
    /// Hand over what the exchanges have received, however little. → received, wrote
    case flush
    /// All of the file has come: the download takes nothing more for now, and leaves its part of limits to others.
    case takesNoMore
    /// The mirrors that were asked for last are those of what follows.
    case remirror(steps: Int)
}

/// What is to be done about the link of a download.
package enum LinkAction: Sendable, Equatable {
    /// Ask for another. → given, none, failed
    case ask(LinkReason)
    /// Nobody wants the answer any more, if it has not come meanwhile.
    case cancel
}

/// What is to be done with the record of a download.
package enum StoreAction: Sendable, Equatable {
    /// Keep it. → recorded, failed when `confirmed`
    indirect case record(Saved, RecordNeed)
    /// Forget it. → recorded, failed
    case unrecord
}

/// How much a record matters.
package enum RecordNeed: Sendable, Hashable {
    /// Marks of a running transfer: cheap, survives the process.
    case marks
    /// A change of status, or bytes that the device has: survives the machine, nobody waits for it.
    case status
    /// The same, and the machine waits for the confirmation.
    case confirmed
}

/// What a user may see of a download.
package enum Notice: Sendable, Equatable {
    /// Where it stands now.
    case status(Phase)
    /// Bytes that are with the kernel, and the size where it is known.
    case progress(completed: Int64, total: Int64?)
    /// The bytes so far were given up, and why.
    case restarted(RestartReason)
    /// A server described the file: that of the download's URL, or of a mirror.
    case head(ResponseHead, from: Source)
    /// An attempt failed and another follows.
    case retrying(DownloadFailure, at: Duration)
    /// The digest was compared.
    case verified(Verification)
}

/// Where a download stands, as a user sees it.
package enum Phase: Sendable, Hashable {
    case waiting(Wait)
    case running
    case willSuspend
    case willCancel
    case willRemove
    case suspended
    case failed(DownloadFailure)
    case canceled
    case removed
    case succeeded
}

/// Why a download waits.
public enum WaitingReason: Sendable, Hashable {
    /// For one of the downloads that run to end.
    case slot
    /// For one of its list that run to end: of that list as many run as may.
    case listSlot
    /// For one of its host that run to end, of which as many run as may, or as it has shown that it takes at once; or for
    /// the host, which is left alone for a time where it takes only so many requests in one
    /// (`DownloadTask.waitingUntil` has the date).
    case hostSlot
    /// For the time of the next attempt, on the clock of the manager; `DownloadTask.waitingUntil` has the date.
    case retry(at: Duration)
    /// For a network that may be used. That is no attempt, and nothing is counted; it goes on by itself.
    case network
    /// For space on the disk; looked at again at that time, as for the next attempt.
    case disk(until: Duration)
    /// For its context to be the manager's.
    case context
}

extension WaitingReason {
    /// What a user sees of what the machine knows; of who waits for a slot, also which is missing.
    package init(_ wait: Wait, missingSlot: WaitingReason) {
        switch wait {
        case .slot: self = missingSlot
        case .retry(let time): self = .retry(at: time)
        case .network: self = .network
        case .disk(let time): self = .disk(until: time)
        case .shelved: self = .context
        }
    }
}

/// Why another link is asked for.
public enum LinkReason: Sendable, Hashable {
    /// The server answered 400, 401, 403 or 410.
    case refused(status: Int)
    /// Its time is over.
    case expired
    /// An attempt begins, and each is to have its own.
    case start
}

/// Why an event was ignored.
package enum IgnoredReason: Sendable, Hashable, CustomStringConvertible {
    /// The download has left the machine.
    case unknownDownload
    /// It came from an attempt that is over.
    case olderAttempt(Attempt)
    /// It came from an exchange that is over.
    case unknownExchange(ExchangeNumber)
    /// It can come late, and does not matter in the state the download is in.
    case late(String)

    /// In words that follow on a colon.
    package var description: String {
        switch self {
        case .unknownDownload: "the download is gone"
        case .olderAttempt(let attempt): "attempt \(attempt) is over"
        case .unknownExchange(let number): "exchange \(number) is over"
        case .late(let event): event
        }
    }
}
