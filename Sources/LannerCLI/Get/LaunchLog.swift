import Lanner

/// Keeps what goes wrong while a manager is made, which is what was damaged of its records; later it is silent.
final class LaunchLog: Logable {
    let identifier = "lanner"
    private let state = Locked((option: LogOption.default, errors: [String]()))

    var option: LogOption {
        get { state.withLock { $0.option } }
        set { state.withLock { $0.option = newValue } }
    }

    func log(_ type: LogType) {
        guard case .error(_, let error) = type else { return }
        state.withLock { $0.errors.append("\(error)") }
    }

    /// What there was, once.
    func end() -> [String] {
        state.withLock { state in
            defer { state = (.none, []) }
            return state.errors
        }
    }
}
