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
    /// The download of a task; nil when another has its number by now, which took over what it has left.
    fileprivate func job(of task: DownloadTask) -> Job? {
        job(task.id).flatMap { $0.task === task ? $0 : nil }
    }

    fileprivate func expectLink(of task: DownloadTask, expires date: Date?) {
        guard let job = job(of: task) else { return }
        enter { _ in
            job.state.withLock { $0.linkExpirationDate = date }
            return [.expectLink(job.id, expires: date?.wholeSeconds)]
        }
    }
}
