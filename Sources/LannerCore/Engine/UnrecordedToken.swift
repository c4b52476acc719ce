import Foundation

/// The token of a manager of whom nothing is on record yet, in the file of its lock: if its process is killed by then,
/// nothing else tells whose partial files it leaves. Only for who has the lock.
struct UnrecordedToken {
    let path: String
    let fileSystem: any FileSystem
    /// Many times what an identity takes: a larger file is not read.
    private static let bound: Int64 = 4 << 10

    /// That of the last one, if nothing of it was ever found on record.
    func read() -> UInt64? {
        do throws(FileError) {
            let file = try fileSystem.open(path, .read)
            defer { file.close() }
            return try StoreIdentity(file.readAll(upTo: Self.bound, at: path).withBytes { Data($0) })?.token
        } catch {
            return nil
        }
    }

    /// Keeps the token of an identity, or none. If that fails, what a killed process leaves stays.
    func write(_ identity: StoreIdentity?) {
        do throws(FileError) {
            let file = try fileSystem.open(path, .readWrite)
            defer { file.close() }
            try file.truncate(to: 0)
            if let identity { try file.write(Array(identity.encoded), at: 0) }
        } catch {}
    }
}
