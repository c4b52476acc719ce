import LannerMachine

/// Which download has which name in the directory of finished files: it has its file there, or is about to.
///
/// A name that nobody has here may still be that of a file on the disk.
struct Places: Sendable {
    private var owners: [String: DownloadID] = [:]
    /// The last number that was looked at for another name of the same kind.
    private var numbers: [String: Int] = [:]

    /// The download that has a name, the last one when there were several.
    func owner(of name: String) -> DownloadID? { owners[name] }

    /// Whether no other download has the name.
    func isFree(_ name: String, for id: DownloadID) -> Bool { (owners[name] ?? id) == id }

    /// Gives a name to a download, whoever has it; says who that was.
    @discardableResult
    mutating func take(_ name: String, for id: DownloadID) -> DownloadID? { owners.updateValue(id, forKey: name) }

    /// Takes a name back from a download, if it is the one that has it.
    mutating func leave(_ name: String, _ id: DownloadID, to other: DownloadID? = nil) {
        if owners[name] == id { owners[name] = other }
    }

    /// Another name of the same kind that was not given before.
    mutating func nextName(after name: String) -> String {
        let number = numbers[name, default: 1] + 1
        numbers[name] = number
        return FileName.numbered(name, number)
    }
}
