import Foundation
import LannerMachine
import Testing

@testable import LannerCore

/// What is written stays what other versions read: tags as numbers, in the order in which they are written.
@Suite struct RecordTagTests {
    private static func field(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        [tag, UInt8(bytes.count), 0, 0, 0] + bytes
    }

    private static func text(_ tag: UInt8, _ text: String) -> [UInt8] { field(tag, Array(text.utf8)) }

    private static func numbers(_ tag: UInt8, _ numbers: Int64...) -> [UInt8] {
        field(tag, numbers.flatMap { number in withUnsafeBytes(of: number.littleEndian) { Array($0) } })
    }

    /// With all that a record may have.
    private static var record: DownloadRecord {
        var record = DownloadRecord.sample(.failed(DownloadFailure(.status(404), "why")))
        (record.isNameOpen, record.isUncompared, record.isReplaced) = (true, true, true)
        record.pieces = Checksum.Pieces(algorithm: .md5, length: 300, joined: Array(repeating: 7, count: 16))
        record.movePolicy = .fail
        record.file = FileFingerprint(number: .max, changed: -7, size: 100)
        record.saved.isLeftover = true
        record.exchange = ExchangeMark(serial: 6, generation: 4, isResumed: true)
        record.lastSerial = 6
        return record
    }

    private static let fields: [[UInt8]] = [
        numbers(1, 0x4000_0000_0000_0000), numbers(25, -1),
        text(2, "https://example.com/ä?q"), text(3, "A"), text(4, "b"), text(3, "A"), text(4, ""), text(3, "C"),
        text(4, "d"), text(5, "näme"),
        // Whose it is, and how it is treated.
        text(28, "kéy"), text(29, "a list"), numbers(39, -2), numbers(48, -7), text(30, ""), text(31, ""),
        text(32, "x"), text(31, "b"), text(32, ""), text(31, "c"), text(32, "é"), text(33, "a/ü"), numbers(37, 1),
        text(34, "keepBoth"), text(78, "fail"), numbers(27, 1), numbers(6, -5),
        text(7, "md5:00000000000000000000000000000000"), numbers(76, 1), numbers(77, 1),
        numbers(79, -1), numbers(80, -7), numbers(81, 100),
        // 1.5 and 2.5.
        numbers(9, 0x3FF8_0000_0000_0000), numbers(10, 0x4004_0000_0000_0000), text(11, "incorrect"),
        text(12, "boot"),
        // Where it stands.
        text(13, "failed"), text(14, "status.404"), text(15, "why"), numbers(35, 1), numbers(36, 1), numbers(38, 1),
        numbers(75, 1), numbers(82, 1), numbers(21, 3), numbers(22, 0, 5, 9, 12), numbers(23, 0, 5), numbers(24, 100),
        field(8, [0, 255]), numbers(26, 7),
        text(16, "W/\"a\""), text(17, "Sun, 06 Nov 1994 08:49:37 GMT"), numbers(18, 1), numbers(19, 0),
        numbers(20, 100),
        // Mirrors, and the link: until 3.5.
        text(69, "https://a.example/f"), text(69, "https://b.example/f"), text(70, "https://b.example/f"),
        numbers(68, 0x400C_0000_0000_0000), text(64, "https://cdn.example/f?key"), numbers(65, 1), text(66, "E"),
        text(67, "f"), text(66, "E"), text(67, ""),
        // The exchange, and digests.
        numbers(72, 6), numbers(73, 4), numbers(74, 1),
        text(49, "sha1"), field(50, Array(0..<20)), text(51, "md5"), numbers(52, 300),
        field(53, Array(repeating: 7, count: 16)),
    ]

    @Test func aRecordIsWrittenAsItEverWas() {
        #expect(Array(Self.record.encoded) == Array(Self.fields.joined()))
    }

    @Test func whatWasWrittenIsReadAsItWasMeant() {
        #expect(DownloadRecord(Data(Self.fields.joined())) == Self.record)
    }

    @Test func aRemovalIsWrittenAsItEverWas() {
        let file = FileFingerprint(number: 5, changed: -7, size: 100)
        let removal = Removal(place: FilePlace("näme", in: "a/ü"), file: file)
        let fields = [Self.text(1, "näme"), Self.text(2, "a/ü"), Self.numbers(3, 5), Self.numbers(4, -7)]
        let bytes = (fields + [Self.numbers(5, 100)]).joined()
        #expect(Array(removal.encoded) == Array(bytes) && Removal(Data(bytes)) == removal)
        #expect(Removal.key(DownloadID(7)) == "removal-7" && Removal.id(ofKey: "removal-7") == DownloadID(7))
        for key in ["7", "identity", "removal-", "removal--7", "removal-9223372036854775807"] {
            #expect(Removal.id(ofKey: key) == nil, "\(key)")
        }
        for place in ["..", "a/b", ""] {
            #expect(Removal(Removal(place: FilePlace(place), file: file).encoded) == nil, "\(place)")
        }
    }

    @Test func anIdentityIsWrittenAsItEverWas() {
        var identity = StoreIdentity(token: 0x8877_6655_4433_2211)
        identity.lastID = 0x0102
        let bytes: [UInt8] = [
            1, 8, 0, 0, 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
            2, 8, 0, 0, 0, 0x02, 0x01, 0, 0, 0, 0, 0, 0,
        ]
        #expect(Array(identity.encoded) == bytes)
        #expect(StoreIdentity(Data(bytes)) == identity)
    }
}
