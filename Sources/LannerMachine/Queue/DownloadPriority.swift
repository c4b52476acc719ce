/// How much a download matters beside the others that wait: the raw value is remembered, the greater comes first.
public enum DownloadPriority: Int8, Sendable, Comparable, CaseIterable {
    /// After all others.
    case veryLow = -2
    /// After those that are given no priority.
    case low = -1
    /// What a download has that is given no other.
    case normal = 0
    /// Before those that are given no priority.
    case high = 1
    /// Before all others.
    case veryHigh = 2

    /// Whether the right one comes first.
    public static func < (left: DownloadPriority, right: DownloadPriority) -> Bool { left.rawValue < right.rawValue }
}
