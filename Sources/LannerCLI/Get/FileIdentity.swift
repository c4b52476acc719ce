import Foundation

/// Which file of the system one is, by whatever name; of regular files only, for no other can be replaced.
struct FileIdentity: Equatable {
    private let device: dev_t
    private let number: ino_t

    /// That of an open file.
    init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// That of what a path leads to.
    init?(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    private init?(_ status: stat) {
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        (device, number) = (status.st_dev, status.st_ino)
    }
}
