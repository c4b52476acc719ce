import LannerLoopback
import Testing

@Suite struct GeneratedBytesTests {
    typealias Resource = LoopbackServer.Resource

    @Test func anyRangeIsTheSliceOfTheWhole() {
        let file = Resource(.generated(seed: 42, length: 100))
        let whole = file.bytes
        #expect(whole.count == 100)
        for start in 0...100 {
            for end in start...100 {
                #expect(file.bytes(in: Int64(start)..<Int64(end)) == Array(whole[start..<end]))
            }
        }
        #expect(file.bytes(in: 90..<200) == Array(whole[90...]))
        #expect(file.bytes(in: 200..<300).isEmpty)
    }

    @Test func theFirstWordsAreSplitMix64() {
        // The reference sequence of the seed 1234567.
        let expected: [UInt64] = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        let bytes = Resource(.generated(seed: 1_234_567, length: 24)).bytes
        #expect(bytes == expected.flatMap { word in withUnsafeBytes(of: word.littleEndian, Array.init) })
    }

    @Test func piecesMakeTheWhole() {
        let file = Resource(.generated(seed: 1, length: 600_001))
        var joined: [UInt8] = []
        file.forEachPiece { joined += $0 }
        #expect(joined == file.bytes)
    }

    @Test func seedsDiffer() {
        #expect(Resource(.generated(seed: 1, length: 64)).bytes != Resource(.generated(seed: 2, length: 64)).bytes)
    }

    @Test func saysHowManyBytesThereAreAndNotWhich() {
        #expect("\(Resource([1, 2, 3]).body)" == "3 bytes")
        let huge = Resource(.generated(seed: 7, length: 1 << 40))
        #expect("\(huge)".contains("body: 1099511627776 bytes generated from 7"))
    }
}
