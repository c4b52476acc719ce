import LannerMachine

/// Which download has which place among finished files: it has its file there, or is about to.
///
/// A place that nobody has here may still be that of a file on the disk.
struct Places: Sendable {
    private var owners: [FilePlace: DownloadID] = [:]
    /// The last number that was looked at for another name of the same kind.
    private var numbers: [FilePlace: Int] = [:]
    /// The downloads that were given a place by their callers.
    private var claims: [FilePlace: Set<DownloadID>] = [:]

    /// The download that has a place, the last one when there were several.
    func owner(of place: FilePlace) -> DownloadID? { owners[place] }

    /// Whether no other download has the place.
    func isFree(_ place: FilePlace, for id: DownloadID) -> Bool { (owners[place] ?? id) == id }

    /// Gives a place to a download, whoever has it; says who that was.
    @discardableResult
    mutating func take(_ place: FilePlace, for id: DownloadID) -> DownloadID? { owners.updateValue(id, forKey: place) }

    /// Takes a place back from a download, if it is the one that has it.
    mutating func leave(_ place: FilePlace, _ id: DownloadID, to other: DownloadID? = nil) {
        if owners[place] == id { owners[place] = other }
    }

    /// A place with another name of the same kind that was not given before.
    mutating func next(after place: FilePlace) -> FilePlace {
        let number = numbers[place, default: 1] + 1
        numbers[place] = number
        return FilePlace(FileName.numbered(place.name, number), in: place.directory)
    }

    // MARK: Destinations

    /// The caller of a download wants its file there.
    mutating func claim(_ place: FilePlace, for id: DownloadID) { claims[place, default: []].insert(id) }

    mutating func giveUpClaim(_ place: FilePlace, _ id: DownloadID) {
        claims[place]?.remove(id)
        if claims[place]?.isEmpty == true { claims[place] = nil }
    }

    /// Whether another download still wants its file there. Those that do not any more are forgotten.
    mutating func isClaimed(_ place: FilePlace, besides id: DownloadID?, isAlive: (DownloadID) -> Bool) -> Bool {
        guard let others = claims[place]?.filter({ $0 == id || isAlive($0) }) else { return false }
        claims[place] = others.isEmpty ? nil : others
        return others.contains { $0 != id }
    }
}
