import Testing

@testable import LannerCore

@Suite struct ByteWriterTests {
    private static func bytes(_ writer: ByteWriter) -> [UInt8] { writer.withBytes { Array($0) } }

    @Test func writesNumbersAndTexts() {
        var writer = ByteWriter()
        writer.append(8) { cursor in
            cursor.put(UInt8(1))
            cursor.put(0x0504_0302 as UInt32)
            cursor.put("é€".dropLast().description)
            cursor.put(UInt8(9))
        }
        #expect(Self.bytes(writer) == [1, 2, 3, 4, 5, 0xC3, 0xA9, 9])
        #expect(writer.count == 8)
    }

    @Test func addsNothing() {
        var writer = ByteWriter()
        writer.append(0) { $0.put("") }
        writer.append(0) { _ in }
        #expect(writer.count == 0 && Self.bytes(writer) == [])
    }

    /// What was written stays when there has to be more room, and is forgotten when that is asked for.
    @Test(arguments: [0, 1, 100]) func growsBehindWhatIsThere(capacity: Int) {
        var writer = ByteWriter(capacity: capacity)
        for _ in 0..<2 {
            for number in 0..<200 as Range<UInt8> { writer.append(2) { $0.put(UInt16(number)) } }
            #expect(Self.bytes(writer) == (0..<200).flatMap { [UInt8($0), 0] })
            writer.removeAll()
            #expect(writer.count == 0 && Self.bytes(writer) == [])
        }
    }

    @Test func leavesBytesForAnotherCursor() {
        var writer = ByteWriter()
        writer.append(3) { cursor in
            var head = cursor
            cursor.skip(2)
            cursor.put(UInt8(3))
            head.put(0x0201 as UInt16)
        }
        #expect(Self.bytes(writer) == [1, 2, 3])
    }
}
