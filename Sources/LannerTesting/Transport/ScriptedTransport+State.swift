import Foundation
import LannerCore
import LannerLoopback
import LannerMachine

extension ScriptedTransport {
    /// What a scripted transport's lock guards.
    struct State {
        /// An exchange that has not ended, and what its place is called.
        struct Underway {
            var places: [String]
            var exchange: ScriptedExchange
        }

        var reception = Reception()
        var scripts: [String: ArraySlice<Step>] = [:]
        var standing: [String: Standing] = [:]
        /// Steps of scripts that were taken and have changed nothing.
        var idle: [String: [Step]] = [:]
        var requests: [TransportRequest] = []
        /// How many requests were handed out one by one.
        var seen = 0
        var rush = Rush()
        /// How many requests there ever were; the number of the last.
        var lastNumber = 0
        var exchanges: [Int: Underway] = [:]
        var leavesResumeData = true
        /// Exchanges that outlive the process, by name, until they are discarded.
        var named: [String: Underway] = [:]
        /// Who is told of what has survived; nil while nobody has asked.
        var listener: (@Sendable (TransportRecovery) -> Void)?
        var (holdsRecovery, trustsRedirects) = (false, false)
        /// Whether nothing is delivered before it is released.
        var holdsAll = false
        /// What every exchange fails with from now on.
        var outage: TransportFault?
        /// Of hosts that answer so many requests in a time.
        var gates: [String: Gate] = [:]
        /// What exchanges that broke off have left, by its resume data.
        var kept: [Data: Kept] = [:]
    }

    /// What becomes of every request of a place that has no script left.
    struct Standing {
        var step: Step
        var isTaken = false
        /// Whether any request has gone otherwise than without it.
        var hasMattered = false
    }

    /// What becomes of a request.
    struct Plan {
        var number: Int
        var places: [String]
        var step: Step
        /// The place by whose script it goes, or by what always holds there.
        var script: String?
        var standing: String?
    }

    /// How often each part of each URL was requested while the clock stood still.
    struct Rush {
        private struct Asked: Hashable {
            var url: URL
            var range: String?
            var resumeData: Data?
        }

        private var instant: Duration?
        private var counts: [Asked: Int] = [:]

        /// Counts a request.
        mutating func count(_ request: TransportRequest, at now: Duration) -> Int {
            if instant != now { (instant, counts) = (now, [:]) }
            let asked = Asked(url: request.url, range: request.fields["Range"], resumeData: request.resumeData)
            counts[asked, default: 0] += 1
            return counts[asked, default: 0]
        }
    }

    /// The beginning of a file, and the request that brought it.
    struct Kept {
        var request: TransportRequest
        var bytes: [UInt8]
        var validator: String

        /// The request for the rest.
        var rest: TransportRequest {
            var rest = request
            rest.fields["Range"] = "bytes=\(bytes.count)-"
            rest.fields["If-Range"] = validator
            return rest
        }
    }
}

extension ScriptedTransport.State {
    /// A place as it is compared: a whole URL as it is asked for, a path with the slash at its beginning.
    static func normalized(_ place: String) -> String {
        if place.hasPrefix("/") { return place }
        return place.contains("://") ? (try? WebAddress(place))?.text ?? place : "/" + place
    }

    /// What the place of a URL may be called: the URL, its path as it is, and with the percent-encoding undone where that is
    /// text; with the slash at its end.
    private static func places(of url: URL) -> [String] {
        let path = url.path(percentEncoded: true)
        let paths = [path] + (path.removingPercentEncoding.map { $0 == path ? [] : [$0] } ?? [])
        return [normalized(url.absoluteString)] + paths.map(normalized)
    }

    /// The first request that was not handed out yet.
    mutating func takeUnseen() -> TransportRequest? {
        guard seen < requests.count else { return nil }
        defer { seen += 1 }
        return requests[seen]
    }

    /// The exchanges that outlive the process, by the order of their names.
    var namedExchanges: [ScriptedExchange] { named.sorted { $0.key < $1.key }.map(\.value.exchange) }

    /// What an exchange leaves that breaks off; nil when it is to leave nothing.
    mutating func keep(_ request: TransportRequest, _ head: ResponseHead, _ bytes: [UInt8]) -> Data? {
        guard leavesResumeData else { return nil }
        // Without one nobody could ask for the rest of the same file.
        guard let validator = head.fields["ETag"] ?? head.fields["Last-Modified"] else { return nil }
        let data = Data("resume data \(kept.count + 1)".utf8)
        kept[data] = ScriptedTransport.Kept(request: request, bytes: bytes, validator: validator)
        return data
    }

    /// Keeps a request, and takes its step off the script; resume data that nobody left are refused.
    mutating func note(
        _ request: TransportRequest, isInvalidated: Bool, at now: Duration
    ) -> ScriptedTransport.Plan {
        lastNumber += 1
        // What comes too late is sent nowhere.
        if !isInvalidated { requests.append(request) }
        let known = request.resumeData.map { kept[$0] }
        let url = known??.request.url ?? request.url
        var plan = ScriptedTransport.Plan(number: lastNumber, places: Self.places(of: url), step: .pass)
        if isInvalidated {
            plan.step = .failure(.unavailable)
        } else if let outage {
            plan.step = .failure(outage)
        } else if case .some(nil) = known {
            plan.step = .failure(.other)
        } else if let refusal = url.host.flatMap({ gates[$0.lowercased()]?.refusal(at: now) }) {
            plan.step = refusal
        } else {
            takeStep(&plan)
        }
        return plan
    }

    /// The next step of the first place that has any left, otherwise the one that always holds.
    private mutating func takeStep(_ plan: inout ScriptedTransport.Plan) {
        for place in plan.places {
            guard let step = scripts[place]?.popFirst() else { continue }
            (plan.step, plan.script) = (step, place)
            return
        }
        for place in plan.places {
            guard let step = standing[place]?.step else { continue }
            standing[place]?.isTaken = true
            (plan.step, plan.standing) = (step, place)
            return
        }
    }

    /// What is left of the scripts, and what always holds where nobody has asked.
    var unused: [String: [ScriptedTransport.Step]] {
        let rests = scripts.mapValues { Array($0) }.filter { !$0.value.isEmpty }
        return rests.merging(standing.filter { !$0.value.isTaken }.mapValues { [$0.step] }, uniquingKeysWith: +)
    }

    /// Those of scripts that have changed nothing, and what always holds where it has for no request.
    var withoutEffect: [String: [ScriptedTransport.Step]] {
        let idlers = standing.filter { $0.value.isTaken && !$0.value.hasMattered }
        return idle.merging(idlers.mapValues { [$0.step] }, uniquingKeysWith: +)
    }

    /// Says whether a request went otherwise than it would have without its step.
    private mutating func note(_ plan: ScriptedTransport.Plan, hasEffect: Bool) {
        if let place = plan.standing, hasEffect { standing[place]?.hasMattered = true }
        if let place = plan.script, !hasEffect { idle[place, default: []].append(plan.step) }
    }

    mutating func exchange(
        _ request: TransportRequest, _ plan: ScriptedTransport.Plan, _ date: Date, _ pieceLength: Int, _ canPause: Bool,
        _ handover: ScriptedExchange.Handover?, _ receive: @escaping @Sendable (TransportEvent) -> Void,
        onEnd: @escaping @Sendable () -> Void
    ) -> ScriptedExchange {
        let (head, body) = answer(request, plan, date)
        var course = plan.step.course
        if holdsAll, course.cut >= 0 { course.limit = -1 }
        return ScriptedExchange(
            head: head, body: body, course: course, pieceLength: pieceLength, canPause: canPause, handover: handover,
            receive: receive, onEnd: onEnd)
    }

    private mutating func answer(
        _ request: TransportRequest, _ plan: ScriptedTransport.Plan, _ date: Date
    ) -> (ResponseHead, any ScriptedBody) {
        if case .exactly(let head, let body) = plan.step {
            note(plan, hasEffect: true)
            return (head, body)
        }
        if case .changeTo(let resource) = plan.step {
            reception.serve(resource, at: plan.places.first(where: reception.has) ?? plan.places.last ?? "/")
        }
        var fields = LoopbackServer.Fields()
        for field in request.fields.fields { fields.append(field.name, field.value) }
        let reply = reception.reply(at: plan.places, fields, plan.step.answer, now: date)
        let hasEffect = plan.step.matters(
            to: reply, insteadOf: reception.reply(at: plan.places, fields, .pass, now: date))
        note(plan, hasEffect: hasEffect)
        let lines = reply.fields.lines.map { HeaderFields.Field(name: $0.name, value: $0.value) }
        return (ResponseHead(status: reply.status, fields: HeaderFields(lines)), reply)
    }
}
