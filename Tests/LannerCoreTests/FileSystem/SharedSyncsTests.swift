import Dispatch
import Foundation
import Testing

@testable import LannerCore

@Suite(.timeLimit(.minutes(10))) struct SharedSyncsTests {
    /// Syncs of one path, each of which lasts until it is let go.
    private final class Device: Sendable {
        private let begun = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        let count = Locked(0)

        func sync(_ error: FileError? = nil) throws(FileError) {
            count.withLock { $0 += 1 }
            begun.signal()
            gate.wait()
            if let error { throw error }
        }

        func waitUntilItBegins() { begun.wait() }
    }

    private func call(
        _ syncs: SharedSyncs<PathKey>, _ device: Device, _ done: DispatchGroup, _ path: String = "d",
        failing: FileError? = nil
    ) -> Locked<FileError?> {
        let result = Locked<FileError?>(nil)
        done.enter()
        Thread.detachNewThread {
            do throws(FileError) {
                try syncs.perform(PathKey(path)) { (_) throws(FileError) in try device.sync(failing) }
            } catch {
                result.withLock { $0 = error }
            }
            done.leave()
        }
        return result
    }

    private func wait(_ done: DispatchGroup) async {
        await withCheckedContinuation { continuation in
            done.notify(queue: .global()) { continuation.resume() }
        }
    }

    @Test func eachCallIsCoveredByASyncThatBeganAfterIt() async {
        let (syncs, device, done) = (SharedSyncs<PathKey>(), Device(), DispatchGroup())
        _ = call(syncs, device, done)
        device.waitUntilItBegins()
        // While that is under way: none of these is covered by it, and all by one more.
        for _ in 0..<8 { _ = call(syncs, device, done) }
        while syncs.waiting(PathKey("d")) < 8 { await Task.yield() }
        for _ in 0..<9 { device.gate.signal() }
        await wait(done)
        #expect(device.count.withLock { $0 } == 2)
    }

    #if !canImport(Darwin)
    /// On the disk they are two, though the texts are equal.
    @Test func aDirectoryWhoseNameOnlyLooksTheSameIsSyncedByItself() async {
        let (syncs, one, other, done) = (SharedSyncs<PathKey>(), Device(), Device(), DispatchGroup())
        _ = call(syncs, one, done, "caf\u{E9}")
        one.waitUntilItBegins()
        _ = call(syncs, other, done, "cafe\u{301}")
        other.waitUntilItBegins()
        one.gate.signal()
        other.gate.signal()
        await wait(done)
        #expect(one.count.withLock { $0 } == 1 && other.count.withLock { $0 } == 1)
    }
    #endif

    @Test func oneAfterTheOtherAreSyncsOfTheirOwn() throws {
        let (syncs, device) = (SharedSyncs<PathKey>(), Device())
        for count in 1...3 {
            device.gate.signal()
            try syncs.perform(PathKey("d")) { (_) throws(FileError) in try device.sync() }
            #expect(device.count.withLock { $0 } == count)
        }
    }

    @Test func aFailureIsToldToAllThatItCovers() async {
        let (syncs, device, done) = (SharedSyncs<PathKey>(), Device(), DispatchGroup())
        // Each fails in a way of its own, so that it shows whose sync it was.
        let errors = (0..<4).map { FileError(fault: .inputOutput, operation: "sync", path: "d/\($0)") }
        let first = call(syncs, device, done)
        device.waitUntilItBegins()
        let others = errors.map { call(syncs, device, done, failing: $0) }
        while syncs.waiting(PathKey("d")) < 4 { await Task.yield() }
        for _ in 0..<5 { device.gate.signal() }
        await wait(done)
        #expect(first.withLock { $0 } == nil)
        #expect(device.count.withLock { $0 } == 2)
        let told = others.map { $0.withLock { $0 } }
        #expect(errors.contains { error in told.allSatisfy { $0 == error } })
    }

    @Test func whoMakesItIsToldForHowManyItIs() async {
        let (syncs, device, done) = (SharedSyncs<Int>(), Device(), DispatchGroup())
        let wanted = Locked<[Int]>([])
        func call(for count: Int) {
            done.enter()
            Thread.detachNewThread {
                try? syncs.perform(1, for: count) { (number) throws(FileError) in
                    wanted.withLock { $0.append(number) }
                    try device.sync()
                }
                done.leave()
            }
        }
        call(for: 1)
        device.waitUntilItBegins()
        call(for: 2)
        call(for: 3)
        while syncs.waiting(1) < 5 { await Task.yield() }
        for _ in 0..<3 { device.gate.signal() }
        await wait(done)
        // Those who come together are counted together.
        #expect(wanted.withLock { $0 } == [1, 5])
    }

    @Test func pathsDoNotWaitForOneAnother() async {
        let (syncs, held, device, done) = (SharedSyncs<PathKey>(), Device(), Device(), DispatchGroup())
        _ = call(syncs, held, done, "a")
        held.waitUntilItBegins()
        device.gate.signal()
        let other = DispatchGroup()
        _ = call(syncs, device, other, "b")
        await wait(other)
        #expect(held.count.withLock { $0 } == 1)
        held.gate.signal()
        await wait(done)
    }

    /// One sync of all, and the callers that wait for it meanwhile, each with one of its own.
    private func share(
        _ count: Int, all: FileError?, own: @escaping @Sendable (Int) -> FileError?
    ) async -> (isByOwn: [Bool?], errors: [FileError?], owns: Int) {
        let (syncs, device, done) = (SharedSyncs<Int>(), Device(), DispatchGroup())
        let first = DispatchGroup()
        first.enter()
        Thread.detachNewThread {
            try? syncs.perform(1) { (_) throws(FileError) in try device.sync() }
            first.leave()
        }
        device.waitUntilItBegins()
        let results = Locked<[Int: Result<Bool, FileError>]>([:])
        let (owns, alls) = (Locked(0), Locked(0))
        for caller in 0..<count {
            done.enter()
            Thread.detachNewThread {
                let result = Result { () throws(FileError) in
                    try syncs.share(1) { () throws(FileError) in
                        owns.withLock { $0 += 1 }
                        if let error = own(caller) { throw error }
                    } all: { () throws(FileError) in
                        alls.withLock { $0 += 1 }
                        if let all { throw all }
                    }
                }
                results.withLock { $0[caller] = result }
                done.leave()
            }
        }
        while syncs.waiting(1) < count { await Task.yield() }
        device.gate.signal()
        await wait(first)
        await wait(done)
        #expect(alls.withLock { $0 } == 1)
        return results.withLock { results in
            let all = (0..<count).map { results[$0] }
            return (all.map { try? $0?.get() }, all.map { $0?.failure }, owns.withLock { $0 })
        }
    }

    @Test func whoIsCoveredByAnothersSyncMakesNone() async {
        let result = await share(4, all: nil) { _ in nil }
        #expect(result.isByOwn.count { $0 == true } == 1 && result.isByOwn.count { $0 == false } == 3)
        #expect(result.owns == 1)
    }

    /// A sync of a whole file system tells of any file's loss, be it another program's.
    @Test func aFailureOfTheSyncOfAllConcernsNobodyWhoseOwnIsGood() async {
        let lost = FileError(fault: .inputOutput, operation: "sync", path: "of another")
        let result = await share(4, all: lost) { _ in nil }
        #expect(result.errors.allSatisfy { $0 == nil } && result.isByOwn.allSatisfy { $0 == true })
        #expect(result.owns == 4)
    }

    @Test func aFailureOfOnesOwnSyncIsToldToThatOneOnly() async {
        let lost = FileError(fault: .inputOutput, operation: "sync", path: "2")
        for all in [nil, lost] {
            let result = await share(4, all: all) { $0 == 2 ? lost : nil }
            #expect(result.errors.enumerated().allSatisfy { $1 == nil || $0 == 2 })
            if all != nil { #expect(result.errors[2] == lost) }
        }
    }

    /// That bytes were lost is never taken for it.
    @Test func someFileSystemsHaveNothingToSyncForADirectory() {
        let error = { FileError(operation: "sync directory", path: "", code: $0) }
        for code in [EINVAL, ENOTSUP, EOPNOTSUPP, ENOSYS, ENOTTY] {
            #expect(DeviceSyncs.areWithoutDirectories(error(code)))
        }
        for code in DeviceSyncs.losses.union([EACCES, EBADF, ESTALE]) {
            #expect(!DeviceSyncs.areWithoutDirectories(error(code)))
        }
    }

    /// A check takes the error from the kernel, so that the next sync would say that all is well.
    @Test func whatACheckTellsIsALossUnlessItCannotBeMade() {
        for code in [EIO, ENOSPC, EDQUOT, ETIMEDOUT, ENOLINK, EILSEQ] { #expect(!DeviceSyncs.refusals.contains(code)) }
        for code in [ENOSYS, EPERM, EINVAL] { #expect(DeviceSyncs.refusals.contains(code)) }
        #if !canImport(Darwin)
        #expect(!DeviceSyncs.refusals.contains(ENODATA) && !DeviceSyncs.refusals.contains(EREMOTEIO))
        #endif
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}
