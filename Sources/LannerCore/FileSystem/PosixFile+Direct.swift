import CLannerDisk
import Foundation
import LannerMachine

// Writes that go from memory to the device, around the kernel's cache (`O_DIRECT`).

extension PosixFile {
    /// Written in one call.
    private static let directSize = 4 << 20

    package var takesDirectWrites: Bool {
        descriptors.withLock { if case .refused = $0.direct { false } else { true } }
    }

    package func writeDirectly(_ buffers: [UnsafeRawBufferPointer], at offset: Int64) throws(FileError) {
        let file = try current("write")
        var position = offset
        for run in buffers.runs(at: offset) {
            if run.isAligned, let direct = direct(of: file) {
                try writeDirectly(run.buffers, at: position, to: direct, else: file)
            } else {
                try write(run.buffers, at: position, to: file, atOnce: Self.writeSize)
            }
            position += Int64(run.count)
        }
    }

    private func writeDirectly(
        _ buffers: [UnsafeRawBufferPointer], at position: Int64, to direct: Descriptor, else file: Descriptor
    ) throws(FileError) {
        do throws(FileError) {
            try write(buffers, at: position, to: direct, atOnce: Self.directSize)
        } catch {
            // The device may have larger blocks, or the file system not do it after all; of anything else the ordinary way
            // tells as well.
            descriptors.withLock { $0.direct = .refused }
            try write(buffers, at: position, to: file, atOnce: Self.writeSize)
        }
    }

    /// Opened when it is first asked for; nil where there are no direct writes.
    private func direct(of file: Descriptor) -> Descriptor? {
        switch descriptors.withLock({ $0.direct }) {
        case .refused: return nil
        case .open(let direct): return direct
        case .untried:
            let number = lanner_disk_open_direct(file.number)
            let direct = number < 0 ? nil : Descriptor(owning: number)
            descriptors.withLock { state in
                // Not when it was closed meanwhile.
                if case .untried = state.direct { state.direct = direct.map { .open($0) } ?? .refused }
            }
            return direct
        }
    }
}

/// Bytes one behind the other that are whole blocks, in their file and in memory, or are not.
private struct Run {
    let isAligned: Bool
    var buffers: [UnsafeRawBufferPointer] = []

    var count: Int { buffers.reduce(0) { $0 + $1.count } }
}

extension [UnsafeRawBufferPointer] {
    /// What the buffers hold, with the position of the first in its file.
    fileprivate func runs(at offset: Int64) -> [Run] {
        var runs: [Run] = []
        func add(_ part: Slice<UnsafeRawBufferPointer>, _ isAligned: Bool) {
            if part.isEmpty { return }
            if runs.last?.isAligned != isAligned { runs.append(Run(isAligned: isAligned)) }
            runs[runs.count - 1].buffers.append(UnsafeRawBufferPointer(rebasing: part))
        }
        var place = Int(offset % Int64(Chunk.block))
        for buffer in joined {
            let start = Swift.min(buffer.count, (Chunk.block - place) % Chunk.block)
            let isAligned = (Int(bitPattern: buffer.baseAddress) + start) % Chunk.block == 0
            let end = isAligned ? buffer.count - (buffer.count - start) % Chunk.block : start
            add(buffer[..<start], false)
            add(buffer[start..<end], true)
            add(buffer[end...], false)
            place = (place + buffer.count) % Chunk.block
        }
        return runs
    }

    /// The same with such as lie one behind the other in memory, too, in one.
    private var joined: Self {
        reduce(into: []) { result, next in
            if let last = result.last, let start = last.baseAddress, start + last.count == next.baseAddress {
                result[result.count - 1] = UnsafeRawBufferPointer(start: start, count: last.count + next.count)
            } else {
                result.append(next)
            }
        }
    }
}
