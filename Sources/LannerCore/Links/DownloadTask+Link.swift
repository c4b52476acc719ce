import Foundation
import LannerMachine

extension DownloadTask {
    /// When the time of the link in hand is over; nil when that is not known. With a ``DownloadLink/Provider`` another is
    /// asked for before an attempt that begins later.
    ///
    /// Set it for a URL that expires; the links of the provider bring their own. It is remembered with the task. Setting
    /// it on a task that no manager has does nothing.
    public var linkExpirationDate: Date? {
        get { engine?.job(of: self)?.state.withLock { $0.linkExpirationDate } }
        set { engine?.expectLink(of: self, expires: newValue) }
    }
}

extension Engine {
    fileprivate func expectLink(of task: DownloadTask, expires date: Date?) {
        enter { state in
            guard let job = state.livingJob(of: task) else { return [] }
            job.state.withLock { $0.linkExpirationDate = date }
            return [.expectLink(job.id, expires: date?.wholeSeconds)]
        }
    }
}
