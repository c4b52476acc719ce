import Foundation
import LannerMachine
import Testing

@testable import LannerCore

/// What a message says of what to do, where the class of the fault does not tell.
struct AdviceTests {
    @Test(
        "A message of the disk says what to do about it",
        arguments: [
            ("write", ENOSPC, "; free some space and start again"),
            (
                "open", ENOSPC,
                "; free some space, or remove files where there is enough of it (df -i tells how many more there may be), "
                    + "and start again"
            ),
            ("write", ENOTCONN, "; its file system is not there any more: mount it again, and start again"),
            ("open", EROFS, "; choose a directory on a file system that may be written to"),
            ("rename", EINVAL, "; this file system may not take the name, choose another"),
            ("write", EINVAL, ""),
        ])
    func advice(operation: String, code: Int32, advice: String) {
        #expect(FileError(operation: operation, path: "f", code: code).advice == advice)
    }

    @Test("A file system that nobody serves any more is one whose device has failed")
    func unserved() { #expect(FileError(operation: "read", path: "f", code: ENOTCONN).fault == .inputOutput) }
}
