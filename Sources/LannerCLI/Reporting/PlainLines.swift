/// Lines on standard error, for logs and for terminals that cannot do more.
struct PlainLines: Reporter {
    /// Whether only errors are told.
    var isQuiet = false
    var wantsEndsOnly: Bool { isQuiet }

    let interval = Duration.seconds(5)

    func report(_ report: DownloadReport) {
        guard !isQuiet || report.event.isFailure, let line = Wording.line(report) else { return }
        Console.message(line)
    }

    func note(_ line: String) {
        if !isQuiet { Console.message(line) }
    }

    func finish() {}
}

extension DownloadReport.Event {
    var isFailure: Bool {
        switch self {
        case .failed: true
        case .start, .progress, .done, .skipped, .restarted, .retrying, .suspended: false
        }
    }
}
