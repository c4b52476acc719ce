import Foundation
import LannerCore
import LannerLoopback
import LannerMachine

/// The simulated servers: what they have, and what goes wrong with them.
final class Servers: Sendable {
    private let all: Locked<[SimulatedSite]>
    private let chronicle: Chronicle
    private let transport: ScriptedTransport
    private let clock: ManualClock

    init(
        _ chronicle: Chronicle, _ transport: ScriptedTransport, _ clock: ManualClock, areFilesLong: Bool,
        using random: inout SeededGenerator
    ) {
        self.chronicle = chronicle
        self.transport = transport
        self.clock = clock
        all = Locked((0..<4).map { SimulatedSite(number: $0, isLong: areFilesLong, using: &random) })
        for index in sites.indices { changeFile(at: index, using: &random) }
        redirect()
    }

    /// Their files.
    var sites: [SimulatedSite] { all.withLock { $0 } }

    /// A digest of the present version of a file.
    func digest(_ algorithm: Checksum.Algorithm, ofSiteAt index: Int) -> Checksum.Digest {
        all.withLock { $0[index].digest(algorithm) }
    }

    /// Nothing goes wrong any more.
    func heal() {
        transport.endScripts()
        redirect()
    }

    private func redirect() {
        for site in sites { transport.always(site.alias.absoluteString, .redirect(to: site.place)) }
    }

    /// Puts another version of a file on its server, unless nobody could tell it from the last one.
    private func changeFile(at index: Int, using random: inout SeededGenerator) {
        guard let resource = all.withLock({ $0[index].change(at: clock.date, using: &random) }) else { return }
        chronicle.note("version", index, Int(resource.length))
        transport.serve(resource, at: sites[index].place)
        // A mirror may be behind.
        if random.chance(2, in: 3) { transport.serve(resource, at: sites[index].mirror.absoluteString) }
    }

    /// A file changes, or the next request for it goes another way.
    /// `lying`: whether wrong bytes may be sent where every download has a digest.
    func serveOtherwise(lying: Bool, using random: inout SeededGenerator) {
        let index = random.below(sites.count)
        let site = sites[index]
        if random.chance(1, in: 3) { return serveOtherVersion(at: index, using: &random) }
        if random.chance(1, in: 4) { return refuseAll(of: site.url.host, using: &random) }
        let lies = lying && site.isLying && random.chance(1, in: 4)
        let step =
            lies ? lie(of: site, &random) : random.chance(1, in: 2) ? breakdown(&random) : oddity(of: site, &random)
        let place = [site.alias.absoluteString, site.mirror.absoluteString, site.place][min(2, random.below(8))]
        chronicle.note("serve", index, text: "\(step)")
        transport.script(place, step)
    }

    /// A host takes no more requests for a while, for whatever file.
    private func refuseAll(of host: String?, using random: inout SeededGenerator) {
        let count = 1 + random.below(6)
        let fields: LoopbackServer.Fields = random.chance(1, in: 3) ? ["Retry-After": "\(random.below(4))"] : [:]
        let step = ScriptedTransport.Step.status(random.chance(1, in: 2) ? 429 : 503, fields)
        for (index, site) in sites.enumerated() where site.url.host == host {
            chronicle.note("refuse", index, text: "\(count) times: \(step)")
            for _ in 0..<count { transport.script(site.place, step) }
        }
    }

    /// The next requests for one file are answered, but hardly one as it was asked.
    func confuse(using random: inout SeededGenerator) {
        let index = random.below(sites.count)
        let site = sites[index]
        if random.chance(1, in: 4) { return serveOtherVersion(at: index, using: &random) }
        let steps =
            random.chance(1, in: 2) ? turn(of: site, &random) : (0..<3).map { _ in confusion(of: site, &random) }
        for step in steps {
            chronicle.note("confuse", index, text: "\(step)")
            transport.script(site.place, step)
        }
    }

    /// The first slice comes, the second makes the download begin anew, and what comes of the others is too late for it.
    private func turn(of site: SimulatedSite, _ random: inout SeededGenerator) -> [ScriptedTransport.Step] {
        let start = 512 + 512 * random.below(3)
        let tooShort = "bytes \(start)-\(start + 1)/\(site.bytes.count)"
        let late: ScriptedTransport.Step =
            switch random.below(3) {
            case 0: .redirect(to: site.place)
            case 1: .contentRange(tooShort)
            default: .failure(.connectionLost)
            }
        let turn: ScriptedTransport.Step =
            switch random.below(4) {
            case 0: .ignoreRange
            case 1: .wrongRange(offset: 1)
            case 2: .fields(["ETag": "\"turned\""])
            default: .status(412)
            }
        return [.pass] + [turn, late, late].shuffled(using: &random)
    }

    /// What makes downloads go back, rather than fail.
    private func confusion(of site: SimulatedSite, _ random: inout SeededGenerator) -> ScriptedTransport.Step {
        switch random.below(8) {
        case 0: .ignoreRange
        case 1: .wrongRange(offset: Int64(random.below(200)) - 100)
        case 2: .contentRange("bytes 0-99/\(site.bytes.count)")
        case 3: .fields(["ETag": "\"other-\(random.below(3))\""])
        case 4: .cut(afterBytes: Int64(random.below(300)))
        case 5: .redirect(to: site.place)
        case 6: unsatisfied(of: site, &random)
        default: .pass
        }
    }

    /// A 416 that tells the size, or another, or none.
    private func unsatisfied(of site: SimulatedSite, _ random: inout SeededGenerator) -> ScriptedTransport.Step {
        let total = [site.bytes.count, 5, nil][random.below(3)]
        return .status(416, total.map { ["Content-Range": "bytes */\($0)"] } ?? [:])
    }

    /// The next answer may not tell that: a part may come without validators.
    private func serveOtherVersion(at index: Int, using random: inout SeededGenerator) {
        changeFile(at: index, using: &random)
        guard random.chance(2, in: 3) else { return }
        chronicle.note("silent", index)
        transport.script(sites[index].place, .fields(["ETag": "", "Last-Modified": "", "Repr-Digest": ""]))
    }

    /// What happens to good servers.
    private func breakdown(_ random: inout SeededGenerator) -> ScriptedTransport.Step {
        switch random.below(7) {
        case 0, 1: .cut(afterBytes: Int64(random.below(3000)))
        case 2: .cut(afterBytes: Int64(random.below(3000)), with: .lengthMismatch)
        case 3: .failure(.timedOut)
        case 4: .failure(.cannotConnect)
        case 5: .status(503, random.chance(1, in: 2) ? ["Retry-After": "\(random.below(100))"] : [:])
        default: .status(429, ["Retry-After": date(in: random.below(100))])
        }
    }

    private func date(in seconds: Int) -> String {
        HTTPDate.text(Int64(clock.date.timeIntervalSince1970) + Int64(seconds))
    }

    /// What bad servers do.
    private func oddity(of site: SimulatedSite, _ random: inout SeededGenerator) -> ScriptedTransport.Step {
        switch random.below(9) {
        case 0: .status([404, 403, 410, 500, 408, 425, 412, 416][random.below(8)])
        case 1: .ignoreRange
        case 2: .wrongRange(offset: Int64(random.below(200)) - 100)
        case 3: .contentRange(falseRange(of: site, &random))
        case 4: .multipart
        // The same bytes under another name, as some networks of caches do.
        case 5: .fields(["ETag": "\"other-\(random.below(3))\""])
        case 6: .redirect(to: random.chance(1, in: 2) ? site.alias.absoluteString : site.place)
        case 7: .redirect(to: ["ftp://a.example/", "//", "http://[::1", "/nowhere"][random.below(4)])
        default: unsatisfied(of: site, &random)
        }
    }

    /// None, none that can be read, or less than is sent.
    private func falseRange(of site: SimulatedSite, _ random: inout SeededGenerator) -> String? {
        let length = site.bytes.count
        let ranges = [nil, "bytes */\(length)", "bytes 0-1/1", "none", "bytes 0-\(length / 4)/\(length)"]
        return ranges[random.below(ranges.count)]
    }

    /// What only a digest tells.
    private func lie(of site: SimulatedSite, _ random: inout SeededGenerator) -> ScriptedTransport.Step {
        let position = random.below(max(1, site.bytes.count))
        return random.chance(1, in: 2) ? .corrupt(at: Int64(position)) : .fields(["Content-Length": "\(position)"])
    }
}
