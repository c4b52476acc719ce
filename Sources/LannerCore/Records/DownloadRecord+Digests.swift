import Foundation
import LannerMachine

// What a download is compared with, besides the caller's digest of the whole.

extension DownloadRecord {
    func encodeDigests(into writer: inout RecordWriter) {
        if let digest = saved.version?.digest {
            writer.put(Tag.serverDigestAlgorithm, digest.algorithm.rawValue)
            writer.put(Tag.serverDigest, Data(digest.bytes))
        }
        guard let pieces else { return }
        writer.put(Tag.pieceAlgorithm, pieces.algorithm.rawValue)
        writer.put(Tag.pieceLength, pieces.length)
        writer.put(Tag.pieceDigests, Data(pieces.bytes))
    }

    static func serverDigest(_ reader: RecordReader) -> ServerDigest? {
        guard let algorithm = reader.text(Tag.serverDigestAlgorithm).flatMap(ServerDigest.Algorithm.init),
            let bytes = reader.data(Tag.serverDigest)
        else { return nil }
        return ServerDigest(algorithm, Array(bytes))
    }

    static func pieces(_ reader: RecordReader) -> Checksum.Pieces? {
        guard let algorithm = reader.text(Tag.pieceAlgorithm).flatMap(Checksum.Algorithm.init(rawValue:)),
            let length = reader.number(Tag.pieceLength), let bytes = reader.data(Tag.pieceDigests)
        else { return nil }
        return Checksum.Pieces(algorithm: algorithm, length: length, joined: Array(bytes))
    }
}
