// Hashes a buffer in memory and prints the throughput in MB/s (10⁶ bytes per second of processor time of this process,
// which is also what `openssl speed` counts).
//
//     hash-bench [MEBIBYTES] [ALGORITHM…]      1024 MiB, all algorithms
//
// With HASH_BENCH_OFFSET set, each piece begins that many bytes behind an aligned place, as network pieces do.

import Foundation
import LannerCore

func processorTime() -> Double {
    Double(clock()) / Double(CLOCKS_PER_SEC)
}

func megabytesPerSecond(_ algorithm: Checksum.Algorithm, _ piece: UnsafeRawBufferPointer, pieces: Int) -> Double {
    var hasher = algorithm.makeHasher()
    let start = processorTime()
    for _ in 0..<pieces {
        hasher.update(piece)
    }
    precondition(hasher.digest().count == algorithm.digestLength)
    return Double(pieces * piece.count) / (processorTime() - start) / 1e6
}

var arguments = CommandLine.arguments.dropFirst()
let mebibytes = arguments.first.flatMap { Int($0) }
if mebibytes != nil {
    arguments.removeFirst()
}
let names = arguments.compactMap { Checksum.Algorithm(name: $0) }

let offset = ProcessInfo.processInfo.environment["HASH_BENCH_OFFSET"].flatMap { Int($0) } ?? 0
let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: (1 << 20) + offset, alignment: 64)
let piece = UnsafeMutableRawBufferPointer(rebasing: memory.dropFirst(offset))
for index in piece.indices {
    piece[index] = UInt8(truncatingIfNeeded: index &* 2_654_435_761 >> 13)
}
for algorithm in names.isEmpty ? Checksum.Algorithm.allCases : names {
    let speed = megabytesPerSecond(algorithm, UnsafeRawBufferPointer(piece), pieces: mebibytes ?? 1024)
    print(algorithm.rawValue, String(format: "%.0f", speed))
}
