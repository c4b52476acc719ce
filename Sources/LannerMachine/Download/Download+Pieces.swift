// Pieces that have digests of their own: one that is wrong is fetched again, the others stay.

extension Download {
    /// A piece that was written is wrong. With the first answer it is a gap like others; an attempt that has come farther
    /// asks for it at once.
    mutating func damaged(_ piece: Range<Int64>, _ context: inout Context) {
        switch state {
        // The last record that could be kept may be from before the pieces: it claims these bytes, and has nothing to
        // compare others with that come in their place.
        case .opening where isOlderThanPieces, .transferring where isOlderThanPieces,
            .verifying where isOlderThanPieces:
            return startOver(.wrongPiece, &context)
        case .opening:
            takeOut(piece, &context)
            // It came in an earlier attempt, perhaps from elsewhere: nobody has been asked for it again yet. But not for
            // ever is it found out so late.
            return fetchAgain(piece, more: 1, &context)
        case .transferring(var transfer):
            takeOut(piece, &context)
            transfer.takeOut(piece)
            leaveBringer(of: piece, &transfer, &context)
            state = .transferring(transfer)
            guard context.isNetworkAvailable else { return close(for: .restart, &context) }
        case .verifying:
            takeOut(piece, &context)
            guard context.isNetworkAvailable else { return close(for: .restart, &context) }
            go(to: .transferring(currentTransfer(&context)), &context)
        case .pausing, .waiting, .publishing, .suspended, .failed, .succeeded:
            // What the file holds is told again when it is closed.
            return ignore(.late("damaged"), &context)
        }
        fetchAgain(piece, &context)
    }

    private mutating func takeOut(_ piece: Range<Int64>, _ context: inout Context) {
        written.remove(piece)
        synced.remove(piece)
        tell(.restarted(.wrongPiece), &context)
        tell(.progress(completed: completed, total: total), &context)
        // What comes in their place is a gain: else failures would add up all through a long repair.
        highMark = min(highMark, written.count)
        // Before other bytes come to where the record still claims some.
        record(.status, &context)
    }

    /// As often as is wanted, and so many times more.
    private mutating func fetchAgain(_ piece: Range<Int64>, more: Int = 0, _ context: inout Context) {
        let tries = pieceFailures[piece, default: 0] + 1
        pieceFailures[piece] = tries
        let detail =
            "The bytes from \(piece.lowerBound) to \(piece.upperBound - 1) do not have the checksum of their piece; check "
            + "the checksums, or download again."
        guard max(tries, wholeRepairs) - more <= context.settings.retry.maximumPieceRetries else {
            // Another place has as many tries.
            pieceFailures = [:]
            return retryOrFail(DownloadFailure(.checksumMismatch, detail), &context)
        }
        guard case .transferring = state else { return }
        guard !isPlain, ask(for: piece, context.settings.delivery) != nil else {
            return fetchAllAgain(detail, &context)
        }
        askForMore(&context)
    }

    /// No part is to be had: all of it is fetched again, of another URL where one was given meanwhile, or of a mirror.
    private mutating func fetchAllAgain(_ detail: String, _ context: inout Context) {
        if goesOnWithOldURL { return mismatched(detail, &context) }
        wholeRepairs += 1
        if leaveWrongFile(context.settings) { return startOver(.wrongPiece, &context) }
        startOver(lack, plain: true, &context)
    }

    /// The user has given other digests of pieces: they count from the next time the file is opened.
    mutating func expectPieces(ofFilesOf sizes: ClosedRange<Int64>, _ context: inout Context) {
        self.sizes = sizes
        (pieceFailures, wholeRepairs) = ([:], 0)
        isOlderThanPieces = isOlderThanPieces || !written.isEmpty
        switch state {
        case .opening, .transferring, .verifying: close(for: .restart, &context)
        case .publishing: hasOtherPieces = true
        case .waiting, .suspended, .failed:
            hasOtherPieces = isPublished
            if isPublished { record(.status, &context) }
        case .pausing, .succeeded: break
        }
    }

    /// What is wrong with a size, where a file of it cannot consist of the pieces; nil when it can, or nobody knows yet.
    func misfit(of total: Int64?) -> String? {
        guard let sizes, let total, !sizes.contains(total) else { return nil }
        return "The file has \(total) bytes, but the checksums of its pieces are for one of \(sizes.lowerBound) to "
            + "\(sizes.upperBound) bytes; check the checksums, or download again."
    }

    /// A place tells a size that the file cannot have: nothing that comes could mend that. What is held stays, of that
    /// version or of another, for the checksums may be wrong, and given up only for what another place sends.
    mutating func refuseSize(_ detail: String, at source: Source, _ context: inout Context) {
        tell(.verified(.mismatch(detail)), &context)
        guard completed == 0 else {
            let failure = DownloadFailure(.checksumMismatch, detail)
            return retryOrFail(failure, at: source, &context)
        }
        wasResumed = false
        mismatched(detail, &context)
    }
}

extension Transfer {
    /// Bytes that were written count no more, and can be asked for again.
    mutating func takeOut(_ piece: Range<Int64>) {
        claimed.remove(piece)
        base -= piece.upperBound - piece.lowerBound
    }
}
