import Foundation
import Lanner

/// Events on standard output, a JSON object on each line; errors on standard error besides.
struct JSONLines: Reporter {
    /// Writes a line; nil when it is written.
    var write: @Sendable (String) -> Console.Failure? = Console.output
    /// Called once, when a line cannot be written. No other is, after that.
    var onFailure: @Sendable (Console.Failure) -> Void

    let interval = Duration.milliseconds(250)
    private let isBroken = Locked(false)

    func report(_ report: DownloadReport) {
        if let failure = firstFailure(Self.line(report)) { onFailure(failure) }
        if case .failed(let trouble) = report.event { Console.message(Wording.failure(report.item, trouble)) }
    }

    func note(_ line: String) {}

    func finish() {}

    /// Writes a line unless one has failed before.
    private func firstFailure(_ line: String) -> Console.Failure? {
        isBroken.withLock { isBroken in
            let failure = isBroken ? nil : write(line)
            if failure != nil { isBroken = true }
            return failure
        }
    }

    /// The line of an event.
    static func line(_ report: DownloadReport) -> String { line(JSONEvent(report)) }

    /// That of what has kept all files from being begun.
    static func line(_ trouble: Trouble) -> String { line(JSONEvent(trouble)) }

    private static func line(_ event: JSONEvent) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(event) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}

/// An event as programs read it. Keys are only ever added.
private struct JSONEvent: Encodable {
    private enum Key: String, CodingKey {
        case event, url, file, bytes, total, speed
        // Of some events only.
        case verified, code, detail, delay
    }

    private let event: DownloadReport.Event
    private let standing: Standing
    /// Nil of none.
    private let item: GetPlan.Item?

    init(_ report: DownloadReport) {
        (event, standing, item) = (report.event, report.standing, report.item)
    }

    init(_ trouble: Trouble) {
        (event, standing, item) = (.failed(trouble), Standing(), nil)
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        // Null of no file, and while it is not known.
        try object.encode(item?.shownURL, forKey: .url)
        try object.encode(item?.path, forKey: .file)
        try object.encode(standing.bytes, forKey: .bytes)
        try object.encode(standing.total, forKey: .total)
        try object.encode(standing.speed, forKey: .speed)
        try encodeEvent(&object)
    }

    private func encodeEvent(_ object: inout KeyedEncodingContainer<Key>) throws {
        try object.encode(name, forKey: .event)
        switch event {
        case .start, .progress, .suspended: break
        case .done(let isVerified), .skipped(let isVerified): try object.encode(isVerified, forKey: .verified)
        case .restarted(let reason): try object.encode(reason.rawValue, forKey: .code)
        case .retrying(let trouble, let delay):
            let (seconds, attoseconds) = delay.components
            try encode(trouble.code, trouble.reason, &object)
            try object.encode(Double(seconds) + (Double(attoseconds) / 1e15).rounded() / 1000, forKey: .delay)
        case .failed(let trouble): try encode(trouble.code, trouble.detail, &object)
        }
    }

    private func encode(_ code: String, _ detail: String, _ object: inout KeyedEncodingContainer<Key>) throws {
        try object.encode(code, forKey: .code)
        try object.encode(detail, forKey: .detail)
    }

    private var name: String {
        switch event {
        case .start: "start"
        case .progress: "progress"
        case .done: "done"
        case .skipped: "skipped"
        case .restarted: "restarted"
        case .retrying: "retrying"
        case .suspended: "suspended"
        case .failed: "failed"
        }
    }
}
