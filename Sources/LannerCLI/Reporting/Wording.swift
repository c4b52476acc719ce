import Foundation
import Lanner

/// How events are put into words for people.
enum Wording {
    /// The line of an event; nil for one that is not worth a line.
    static func line(_ report: DownloadReport) -> String? {
        let (name, standing) = (report.item.name.printable, report.standing)
        switch report.event {
        case .start: return "\(name): " + (standing.bytes > 0 ? "goes on at \(bytes(standing.bytes))" : "begins")
        case .progress: return "\(name): \(progress(standing))"
        case .done(let isVerified): return "\(name): done, \(bytes(standing.bytes))\(verified(isVerified))"
        case .skipped(isVerified: true): return "\(name): is there already\(verified(true))"
        case .skipped(isVerified: false):
            return "\(name): is there already, from a call that is not all done; remove it to have it anew"
        // What comes of it is not known yet: it may begin again, or fail.
        case .restarted(let reason): return "\(name): gives up what it has: \(words(reason))"
        // To another try of the same place there is always some time.
        case .retrying(let trouble, .zero): return "\(name): goes on in another way at once: \(trouble.reason)"
        case .retrying(let trouble, let delay):
            return "\(name): tries again in \(seconds(delay)): \(trouble.reason)"
        case .suspended: return standing.bytes > 0 ? "\(name): \(stop(standing))" : nil
        case .failed(let trouble): return failure(report.item, trouble)
        }
    }

    static func failure(_ item: GetPlan.Item, _ trouble: Trouble) -> String {
        "lanner: \(shown(item)): \(trouble.detail)"
    }

    /// A query may be a signature, and what is printed stays in logs: the name of the file says which it is.
    private static func shown(_ item: GetPlan.Item) -> String {
        let url = item.shownURL
        return url.utf8.contains(UInt8(ascii: "?"))
            ? "\(Destination.redacted(url)) (\(item.name.printable))" : url.printable
    }

    private static func bytes(_ count: Int64) -> String { Figures.bytes(count) }

    private static func progress(_ standing: Standing) -> String {
        let amount =
            standing.total.map { total in
                let percent = standing.fraction.map { "\(Int($0 * 100))%, " } ?? ""
                return "\(percent)\(bytes(standing.bytes)) of \(bytes(total))"
            } ?? bytes(standing.bytes)
        let time = standing.timeLeft > 0 ? ", \(Figures.time(standing.timeLeft)) left" : ""
        return "\(amount), \(Figures.speed(standing.speed))\(time)"
    }

    private static func stop(_ standing: Standing) -> String {
        "stopped at \(bytes(standing.bytes))" + (standing.goesOn ? "" : ", and has to begin anew")
    }

    private static func verified(_ isVerified: Bool) -> String { isVerified ? ", checksum right" : "" }

    private static func seconds(_ duration: Duration) -> String {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        return String(format: seconds < 10 ? "%.1f s" : "%.0f s", seconds)
    }

    private static func words(_ reason: RestartReason) -> String {
        switch reason {
        case .contentChanged: "the file on the server is another one now"
        case .rangesNotServed: "the server sends the file only as a whole, or no usable part"
        case .cannotResume: "nothing but a checksum could tell whether the rest is of the same file"
        case .unusableAnswer: "the server's answer made no sense"
        case .bytesLost: "less of the unfinished file can be read from the disk than was recorded"
        case .wrongDigest: "the bytes do not have the expected checksum"
        case .wrongPiece: "a piece does not have its checksum"
        case .otherURL: "the file was asked for from another URL"
        }
    }
}
