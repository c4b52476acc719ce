import LannerCore

/// How the file system refuses something; nil when it does not.
func fileError(_ body: () throws -> Void) -> FileError? {
    do {
        try body()
        return nil
    } catch {
        return error as? FileError
    }
}
