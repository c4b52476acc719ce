import Foundation

/// A file that is about to replace another, whose permissions it takes over, as if it were written into that one.
///
/// Nobody else may do more with it than with the file before it; where that was another user's, no more than with a new
/// one, either. Whoever owns it may read it in any case, for it is looked at again. What cannot be done is left.
struct Succession {
    private let file: Descriptor
    private let permissions: mode_t

    /// Nil when there is no file in the place, or nothing to change.
    init?(of target: String, by path: String) {
        var old = stat()
        guard lstat(target, &old) == 0, old.isRegular,
            let file = try? Descriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let new = try? file.status("look at", path), new.isRegular
        else { return nil }
        permissions = Self.permissions(of: old, after: new)
        if permissions == new.st_mode & 0o7777 { return nil }
        self.file = file
    }

    private static func permissions(of old: stat, after new: stat) -> mode_t {
        var permissions = old.st_mode & 0o777
        if old.st_uid != new.st_uid { permissions &= new.st_mode }
        // The new group was among the others, and the old one is now.
        if old.st_gid != new.st_gid { permissions &= 0o700 | permissions << 3 & 0o070 | permissions >> 3 & 0o007 }
        return permissions | 0o400
    }

    /// To be called before the file is there for others. Its owner may still write it: perhaps it replaces none.
    func prepare() { _ = fchmod(file.number, permissions | 0o200) }

    /// To be called once it has replaced the other.
    func finish() {
        if permissions & 0o200 == 0 { _ = fchmod(file.number, permissions) }
    }
}
