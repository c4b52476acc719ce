import Foundation
import LannerMachine

extension FileError {
    /// What somebody can do about it, to stand behind the description.
    var advice: String {
        switch code {
        // A file system has no room for another name where it has run out of inodes, whatever space there is.
        case ENOSPC where operation == "open":
            "; free some space, or remove files where there is enough of it (df -i tells how many more there may be), "
                + "and start again"
        case ENOTCONN, ENODEV, ESTALE: "; its file system is not there any more: mount it again, and start again"
        case EROFS: "; choose a directory on a file system that may be written to"
        case ENAMETOOLONG: "; choose a shorter name"
        // As that of FAT and NTFS, which refuse some characters and names.
        case EINVAL where operation == "rename": "; this file system may not take the name, choose another"
        default: fault.advice
        }
    }
}

extension DiskFault {
    fileprivate var advice: String {
        switch self {
        case .noSpace: "; free some space and start again"
        case .notPermitted: "; choose a directory you may write in, or change its permissions"
        case .inputOutput: "; the device may be failing"
        case .notFound: "; the directory may have been removed"
        case .inTheWay: "; move away what is there, or choose another name"
        case .tooLarge: "; choose a file system that holds files of this size"
        case .tooManyFiles: "; let fewer downloads run at once, or the program have more files open"
        case .locked: "; let the other one end first, or choose another directory"
        case .other: ""
        }
    }
}
