import LannerCore
import LannerLoopback

extension LoopbackServer.Resource {
    /// The digest of its bytes, for downloads that are to be compared with it.
    public func digest(_ algorithm: Checksum.Algorithm = .sha256) -> Checksum.Digest {
        var hasher = algorithm.makeHasher()
        forEachPiece { hasher.update($0) }
        return Checksum.Digest(algorithm: algorithm, of: hasher)
    }
}
