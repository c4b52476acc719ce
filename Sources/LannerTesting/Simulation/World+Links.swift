import Foundation
import LannerCore

// What whoever gives links answers.

extension World {
    /// Answers the latest call, so that those nobody wants any more wait on, or the first of one task.
    func giveLink(to task: DownloadTask? = nil) {
        guard let links else { return }
        if let task { links.hurry(task) } else { links.hurryLatest() }
        guard let request = links.oldestWaiting else { return }
        // Of no use are most of those that come late.
        let number = random.below(task == nil ? 8 : 4)
        chronicle.note("link", number, text: request.url.path)
        switch number {
        case 0: links.answer(.success(nil))
        case 1: links.answer(.failure(Refusal()))
        case 2: links.answer(.success(DownloadLink(url: URL(string: "ftp://a.example/"))))
        case 3: links.answer(.success(link(for: request, expirationDate: clock.date + Double(random.below(20)))))
        default: giveGoodLink(from: links)
        }
    }

    /// The site's own URL, or the one that leads there.
    func giveGoodLink(from links: ManualLinks) {
        guard let request = links.oldestWaiting else { return }
        links.answer(.success(link(for: request, expirationDate: nil)))
    }

    private func link(for request: DownloadLink.Request, expirationDate: Date?) -> DownloadLink {
        let site = servers.sites.first { $0.leads(from: request.task.url) }
        let url = request.url == site?.url ? site?.alias : site?.url
        let headers = random.chance(1, in: 2) ? url.map { Lookout.secrets(for: $0) } : nil
        return DownloadLink(url: url, headers: headers, expirationDate: expirationDate)
    }

    private struct Refusal: Error {}
}
