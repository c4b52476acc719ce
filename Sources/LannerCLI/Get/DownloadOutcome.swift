/// How one download of a call ended.
enum DownloadOutcome: Sendable, Equatable {
    /// The file is there.
    case done
    /// It was stopped; the bytes are kept. Whether the same command goes on from there, where there are any.
    case suspended(goesOn: Bool)
    case failed(Trouble)

    var exitCode: ExitCode {
        switch self {
        case .done: .success
        case .suspended: .failure
        case .failed(let trouble): trouble.exitCode
        }
    }
}
