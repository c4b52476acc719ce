import CLannerCurl

/// libcurl, loaded into the process at most once and for good.
enum Library {
    #if canImport(Darwin)
    // The system's: a name alone would be looked for where the process works, too, which may be among downloads.
    static let name = "/usr/lib/libcurl.4.dylib"
    #else
    static let name = "libcurl.so.4"
    #endif

    /// Its version, or why there is none.
    static let outcome = load(name)

    /// Makes sure that it is there.
    static func require() throws(CurlUnavailable) {
        _ = try outcome.get()
    }

    /// Whether it does not take a transfer that is paused for one that has become silent.
    static let mayTimeSilence = holds(mayTimeSilence)

    /// By the version: before 7.75 it counts the time of a pause as well.
    static func mayTimeSilence(_ version: UInt32) -> Bool {
        version >= 0x07_4B_00
    }

    /// Whether a lookup may be left to itself when nobody waits for it any more.
    static let mayLeaveLookups = holds(mayLeaveLookups)

    /// By the version: 8.13 writes what it has found into the transfer, which may be gone; 8.11.1 closes a descriptor
    /// twice, the second time when the name is found, and it may be somebody else's file by then.
    static func mayLeaveLookups(_ version: UInt32) -> Bool {
        version >> 8 != 0x08_0D && version != 0x08_0B_01
    }

    /// Whether it keeps to the limits on connections also for a handle that is used again.
    static let keepsLimits = holds(keepsLimits)

    /// By the version: from 8.10 to 8.13 such a one passes for a lookup, which knows none.
    static func keepsLimits(_ version: UInt32) -> Bool {
        !(0x08_0A_00..<0x08_0E_00).contains(version)
    }

    /// Whether it reads on for a transfer that holds bytes back again in the middle of those that it had held back.
    static let readsWhileItHolds = holds(readsWhileItHolds)

    /// By the version: from 8.8 to 8.14, as much as its buffer takes, each time, to memory without bounds.
    static func readsWhileItHolds(_ version: UInt32) -> Bool {
        (0x08_08_00..<0x08_0F_00).contains(version)
    }

    /// Whether it reads on for a transfer that holds bytes back, whenever it does something for others.
    static let readsBesideOthers = holds(readsBesideOthers)

    /// By the version: from 8.10 to 8.14, without bounds, unless nothing may be sent, either.
    static func readsBesideOthers(_ version: UInt32) -> Bool {
        (0x08_0A_00..<0x08_0F_00).contains(version)
    }

    /// Whether it does not wait while there is something for a transfer that holds bytes back.
    static let spinsWhileItHolds = holds(spinsWhileItHolds)

    /// By the version: only 8.5.
    static func spinsWhileItHolds(_ version: UInt32) -> Bool {
        version >> 8 == 0x08_05
    }

    /// Whether it takes a body in chunks for over at once where there is a length of zero beside them.
    static let overlooksChunks = holds(overlooksChunks)

    /// By the version: from 8.10.1 to 8.20.
    static func overlooksChunks(_ version: UInt32) -> Bool {
        (0x08_0A_01..<0x08_15_00).contains(version)
    }

    /// Whether a rule holds for the one that is here.
    private static func holds(_ rule: (UInt32) -> Bool) -> Bool { (try? outcome.get()).map(rule) ?? false }

    /// Loads it from a file of this name, and returns its version. Only for `outcome` and, with names of no libcurl,
    /// for tests.
    static func load(_ name: String) -> Result<UInt32, CurlUnavailable> {
        var version: UInt32 = 0
        var words = [CChar](repeating: 0, count: 512)
        let loading = lanner_curl_load(name, &version, &words, words.count)
        return judge(loading, version: version, words: text(of: words))
    }

    static func judge(
        _ loading: lanner_curl_loading, version: UInt32, words: String
    ) -> Result<UInt32, CurlUnavailable> {
        switch loading {
        case LANNER_CURL_LOADED where faulty.contains(version >> 8):
            .failure(CurlUnavailable(.faulty(text(of: version))))
        case LANNER_CURL_LOADED where version >= minimum: .success(version)
        case LANNER_CURL_LOADED: .failure(CurlUnavailable(.tooOld(text(of: version))))
        case LANNER_CURL_INCOMPLETE where version > 0 && version < minimum:
            .failure(CurlUnavailable(.tooOld(text(of: version))))
        case _: .failure(CurlUnavailable(.notLoaded(words)))
        }
    }

    /// Without the last part: 8.16 breaks a transfer off that pauses twice while it goes on with what it holds back.
    private static let faulty: Set<UInt32> = [0x08_10]

    /// ``CurlUnavailable/minimumVersion`` as libcurl writes it: one byte for each part.
    private static let minimum: UInt32 = 0x07_44_00

    private static func text(of version: UInt32) -> String {
        "\(version >> 16 & 0xFF).\(version >> 8 & 0xFF).\(version & 0xFF)"
    }

    /// A C string in an array; what is not UTF-8 in it is replaced.
    private static func text(of words: [CChar]) -> String {
        String(decoding: words.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
