import Foundation
import LannerCore

// What whoever gives links answers.

extension World {
    /// Answers the call that has waited longest, of all or of one task, if any does.
    func giveLink(to task: DownloadTask? = nil) {
        guard let links else { return }
        if let task { links.hurry(task) }
        guard let request = links.oldestWaiting else { return }
        let number = random.below(8)
        journal.note("link", number, text: request.url.path)
        switch number {
        case 0: links.answer(.success(nil))
        case 1: links.answer(.failure(Refusal()))
        case 2: links.answer(.success(DownloadLink(url: URL(string: "ftp://a.example/"))))
        case 3: links.answer(.success(link(for: request, expirationDate: clock.date + Double(random.below(20)))))
        default: giveGoodLink(from: links)
        }
    }

    /// The site's own URL, or the one that leads there, and no headers of its own.
    func giveGoodLink(from links: ManualLinks) {
        guard let request = links.oldestWaiting else { return }
        links.answer(.success(link(for: request, expirationDate: nil)))
    }

    private func link(for request: DownloadLink.Request, expirationDate: Date?) -> DownloadLink {
        let site = servers.sites.first { $0.leads(from: request.task.url) }
        let url = request.url == site?.url ? site?.alias : site?.url
        return DownloadLink(url: url, expirationDate: expirationDate)
    }

    private struct Refusal: Error {}
}
