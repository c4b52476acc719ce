import Foundation
import LannerMachine

@testable import LannerCore

extension DownloadRecord {
    /// With much of what a record may have.
    static func sample(_ status: Saved.Status) -> DownloadRecord {
        var saved = Saved(status: status, generation: 3, written: [0..<5, 9..<12], synced: [0..<5], total: 100)
        saved.version = Version(
            entityTag: EntityTag("W/\"a\""), lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", isLastModifiedStrong: true,
            total: 100, digest: ServerDigest(.sha1, (0..<20).map { $0 }))
        saved.resumeData = ResumeData([0, 255], held: 7)
        (saved.isUnstarted, saved.isOfOtherURL, saved.isPublished, saved.isOfOneVersion) = (true, true, true, true)
        saved.source = 2
        return DownloadRecord(
            id: DownloadID(1 << 62), token: .max, url: "https://example.com/ä?q",
            fields: ["A": "b", "A": "", "C": "d"],
            place: FilePlace("näme", in: "a/ü"), hasDestination: true, rank: -5,
            digest: "md5:00000000000000000000000000000000",
            pieces: .of(Sample.bytes(1000), length: 300, .sha512), startDate: 1.5,
            endDate: 2.5, validation: .incorrect, boot: "boot", key: "kéy", list: "a list", priority: .veryLow,
            maximumBytesPerSecond: -7, context: "",
            metadata: ["": "x", "b": "", "c": "é"], conflictPolicy: .keepBoth, saved: saved, link: sampleLink,
            linkExpirationDate: Date(timeIntervalSince1970: 3.5), mirrors: sampleMirrors,
            mirrorOfVersion: sampleMirrors.last)
    }

    private static let sampleMirrors = ["https://a.example/f", "https://b.example/f"].compactMap(URL.init(string:))

    private static let sampleLink = URL(string: "https://cdn.example/f?key").map {
        KeptLink(url: $0, fields: ["E": "f", "E": ""])
    }
}
