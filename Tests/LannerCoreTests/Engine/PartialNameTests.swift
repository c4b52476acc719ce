import LannerMachine
import Testing

@testable import LannerCore

@Suite struct PartialNameTests {
    @Test(
        arguments: [
            (0, 0, 0, "0-0-0.part"),
            (0xA, 10, 10, "a-10-10.part"),
            (0x1000_0000_0000_000F, 1_000_000, 9, "100000000000000f-1000000-9.part"),
            (.max, .max, .max, "ffffffffffffffff-18446744073709551615-4294967295.part"),
        ] as [(UInt64, UInt64, UInt32, String)])
    func isReadAsItIsWritten(token: UInt64, id: UInt64, generation: UInt32, text: String) {
        let name = PartialName(token: token, id: DownloadID(id), generation: generation)
        #expect(name.text == text)
        #expect(PartialName(text) == name)
    }

    @Test(arguments: ["00-1-1.part", "A-1-1.part", "a-01-1.part", "a-1-+1.part", "a-1.part", "a-1-1"])
    func isNoOtherText(text: String) {
        #expect(PartialName(text) == nil)
    }
}
