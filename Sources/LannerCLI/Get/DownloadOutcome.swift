/// How one download of a call ended.
enum DownloadOutcome: Sendable, Equatable {
    /// The file is there.
    case done
    /// It was stopped; the bytes are kept.
    case suspended
    case failed(Trouble)

    var exitCode: ExitCode {
        switch self {
        case .done: .success
        case .suspended: .failure
        case .failed(let trouble): trouble.exitCode
        }
    }
}
