/// Judges a response's head by the request it answers: the ladder of validators (RFC 9110, 13.1.5, 14, 15.3.7, 15.5.17).
///
/// `prefix` is how many bytes are held from position 0 on without a gap; `wallSeconds` the time of day, for a `Retry-After`
/// in a response without `Date`; `isGoneOnWith` whether the system may have asked for the rest of a file by itself.
package func judge(
    _ head: ResponseHead, for ask: Ask, prefix: Int64, wallSeconds: Int64, isGoneOnWith: Bool = false
) -> Verdict {
    Judge(head: head, ask: ask, prefix: prefix, wallSeconds: wallSeconds, isGoneOnWith: isGoneOnWith).verdict
}

private struct Judge {
    var head: ResponseHead
    var ask: Ask
    var prefix: Int64
    var wallSeconds: Int64
    var isGoneOnWith: Bool

    var verdict: Verdict {
        switch head.status {
        // 203 is a 200 that a proxy has changed on its way (RFC 9110, 15.3.4): a file all the same.
        case 200, 203: whole
        case 206: ask.resumeData == nil ? isProven ? part : .fromZero(.contentChanged) : resumed
        case 301, 302, 303, 307, 308: redirect
        case 412: isContinued ? .fromZero(.contentChanged) : refused
        case 416: unsatisfied
        // Also 204, 205 and the other successes: they carry no file.
        default: refused
        }
    }

    /// Whether the answer is to go on with something.
    private var isContinued: Bool { ask.held != nil || ask.resumeData != nil }

    /// Whether an answer from elsewhere has told all that it takes.
    private var isProven: Bool {
        guard ask.isElsewhere, let held = ask.held else { return true }
        return held.isProven(by: Version(head), on: ask.rung)
    }

    private var refused: Verdict {
        .refused(status: head.status, retryAfter: RetryAfter.delay(fields: head.fields, wallSeconds: wallSeconds))
    }

    private var redirect: Verdict {
        guard let location = head.fields.onlyValue(of: "Location"), !FieldText.trimmed(location).isEmpty else {
            return refused
        }
        return .redirect(location: location)
    }
}

extension Judge {
    private var whole: Verdict {
        if ContentLength(fields: head.fields) == .contradictory { return .unusable("Content-Length is malformed") }
        if let problem = strayRange { return .unusable(problem) }
        // A body without a length is of the size that the same version is known to have.
        let version = Version(head).knowing(sizeOf: ask.held)
        guard isContinued else { return .whole(version) }
        let isOther = ask.held?.isContradicted(by: version) ?? false
        return .restart(version, isOther ? .contentChanged : .rangesNotServed)
    }

    /// `Content-Range` means nothing in a 200 (RFC 9110, 14.4), but a server that sends one may have sent a part: only one
    /// that spans the whole file is let pass. Where none was asked for, also one that nobody could read.
    private var strayRange: String? {
        guard head.fields["Content-Range"] != nil else { return nil }
        let range = ContentRange(fields: head.fields)
        if range == nil, ask.range == nil, ask.resumeData == nil { return nil }
        guard case .part(let range, let total?) = range, range == 0..<total else {
            return "status \(head.status) came with a Content-Range that is not the whole file"
        }
        return lengthProblem(range)
    }
}

extension Judge {
    private var part: Verdict {
        guard let asked = ask.range else { return wholePart }
        if let problem = partProblem { return .unusable(problem) }
        guard case .part(let body, let total) = ContentRange(fields: head.fields) else { return .unusable(noRange) }
        if let problem = lengthProblem(body) ?? placeProblem(body, asked) { return .unusable(problem) }
        let version = Version(head)
        guard let held = ask.held else { return .part(version, body: body) }
        guard held.isSame(as: version, on: ask.rung) else { return .fromZero(.contentChanged) }
        if let size = held.total, body.upperBound > size { return .unusable("got bytes from behind the file's end") }
        // The version that is held stays as it is: what an answer adds to it was not compared.
        return .part(held.knowing(total: total), body: body)
    }

    /// To a request for the whole file some caches answer with all of it as a part; and one that outlives processes may
    /// have been gone on with by the system, whose last answer is all that the next process gets to see.
    private var wholePart: Verdict {
        guard partProblem == nil, case .part(let range, let total?) = ContentRange(fields: head.fields),
            range == 0..<total, lengthProblem(range) == nil
        else { return isGoneOnWith ? resumed : .unusable("status 206 though no range was asked for") }
        return .whole(Version(head))
    }

    /// The rest of a file of which the transport holds the beginning: it hands over the whole.
    private var resumed: Verdict {
        if let problem = partProblem { return .unusable(problem) }
        guard case .part(let body, let total?) = ContentRange(fields: head.fields) else { return .unusable(noRange) }
        guard body.upperBound == total else { return .unusable("status 206 that does not complete the file") }
        if let problem = lengthProblem(body) { return .unusable(problem) }
        let version = Version(head)
        guard let held = ask.held else { return .resumed(version, at: body.lowerBound) }
        if held.isContradicted(by: version) { return .fromZero(.contentChanged) }
        return .resumed(held.knowing(total: total), at: body.lowerBound)
    }

    private var partProblem: String? {
        if head.fields.isMultipartRanges { return "several ranges in one body" }
        return head.fields.isContentCoded ? "a part of an encoded file" : nil
    }

    private var noRange: String { "status 206 without one valid Content-Range" }

    private func lengthProblem(_ body: Range<Int64>) -> String? {
        switch ContentLength(fields: head.fields) {
        case .unknown: nil
        case .bytes(let count) where count == body.upperBound - body.lowerBound: nil
        case .bytes: "Content-Length and Content-Range do not agree"
        case .contradictory: "Content-Length is malformed"
        }
    }

    private func placeProblem(_ body: Range<Int64>, _ asked: Range<Int64>) -> String? {
        if body.lowerBound != asked.lowerBound {
            return "asked for bytes from \(asked.lowerBound) on, got them from \(body.lowerBound) on"
        }
        return ask.isOpenEnded || body.upperBound <= asked.upperBound ? nil : "got more bytes than were asked for"
    }

    /// 416: nothing exists from the asked first byte on.
    private var unsatisfied: Verdict {
        guard let asked = ask.range else { return isContinued ? .fromZero(.contentChanged) : refused }
        guard case .unsatisfied(let total) = ContentRange(fields: head.fields) else {
            return .fromZero(.unusableAnswer)
        }
        if let version = ask.held, isOther(than: version, total: total) { return .fromZero(.contentChanged) }
        if total == prefix { return .complete(total: total) }
        // A range that does exist was denied: this server and ranges do not go together.
        return .fromZero(asked.lowerBound < total ? .rangesNotServed : .contentChanged)
    }

    /// Whether a 416 speaks of another version than the one that is held. It seldom carries validators.
    private func isOther(than version: Version, total: Int64) -> Bool {
        if let known = version.total, known != total { return true }
        switch ask.rung {
        case .strongTag, .strongDate, .weak: return version.isContradicted(by: Version(head))
        case .digestOnly, .none: return false
        }
    }
}
