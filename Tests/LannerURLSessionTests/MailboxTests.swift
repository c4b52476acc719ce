import Foundation
import LannerCore
import Testing
import TransportSupport

@testable import LannerURLSession

@Suite(.timeLimit(.minutes(10)))
struct MailboxTests {
    @Test func eventsKeepTheirOrder() async {
        let recorder = Recorder()
        let mailbox = Mailbox(receive: recorder.receive)
        mailbox.post(.head(ResponseHead(status: 200)))
        for number in 0..<2000 { mailbox.post(.bytes(Data(repeating: UInt8(number & 0xff), count: 1000))) }
        #expect(mailbox.finish(.end))
        let log = await recorder.end()
        #expect(log.breaches == [])
        #expect(log.bytes.count == 2_000_000)
        #expect(log.bytes.enumerated().allSatisfy { index, byte in Int(byte) == index / 1000 & 0xff })
    }

    @Test func aLonePieceIsHandedOverWithoutTheNext() async {
        let recorder = Recorder()
        let mailbox = Mailbox(receive: recorder.receive)
        mailbox.post(.head(ResponseHead(status: 200)))
        mailbox.post(.bytes(Data([1])))
        await recorder.wait { $0.bytes == [1] }
        mailbox.post(.bytes(Data([2])))
        await recorder.wait { $0.bytes == [1, 2] }
        #expect(!mailbox.isClosed)
        mailbox.finish(.end)
    }

    @Test func onlyTheFirstEndCounts() async {
        let recorder = Recorder()
        let mailbox = Mailbox(receive: recorder.receive)
        mailbox.post(.head(ResponseHead(status: 200)))
        #expect(mailbox.finish(.end))
        #expect(!mailbox.abandon(TransportFailure(.canceled, "late")))
        #expect(!mailbox.finish(.failure(TransportFailure(.other, "late"))))
        mailbox.post(.bytes(Data([1])))
        #expect(await recorder.end().isComplete)
        #expect(recorder.log.breaches == [])
    }

    @Test func abandoningDropsWhatWaits() async {
        let gate = Turnstile()
        defer { gate.open() }
        let recorder = Recorder { event in
            if case .head = event { gate.pass() }
        }
        let mailbox = Mailbox(receive: recorder.receive)
        mailbox.post(.head(ResponseHead(status: 200)))
        mailbox.post(.bytes(Data([1])))
        await recorder.wait { $0.head != nil }
        #expect(mailbox.abandon(TransportFailure(.canceled, "enough")))
        gate.open()
        let log = await recorder.end()
        #expect(log.bytes == [])
        #expect(log.failure?.fault == .canceled)
    }

    @Test func theReceiverIsFreedAfterTheEnd() async {
        let (freed, witness) = AsyncStream<Void>.makeStream()
        let mailbox = makeMailbox(with: Token { witness.finish() })
        mailbox.finish(.failure(TransportFailure(.other, "over")))
        // Ends when the thread that handed over has let go; when nobody does, with the time limit.
        for await _ in freed {}
        #expect(!Task.isCancelled, "the receiver was not freed")
        #expect(mailbox.isClosed)
    }

    /// A mailbox whose receiver alone holds the token.
    private func makeMailbox(with token: Token) -> Mailbox {
        Mailbox { _ in withExtendedLifetime(token) {} }
    }

    @Test func aPosterIsNotHeldForGood() async {
        let gate = Turnstile()
        defer { gate.open() }
        let recorder = Recorder { event in
            if case .head = event { gate.pass() }
        }
        let mailbox = Mailbox(receive: recorder.receive)
        mailbox.post(.head(ResponseHead(status: 200)))
        // Returns although nothing is taken; a poster that waits without end runs into the time limit.
        for _ in 0..<4 { mailbox.post(.bytes(Data(count: Mailbox.capacity))) }
        gate.open()
        mailbox.finish(.end)
        #expect(await recorder.end().bytes.count == 4 * Mailbox.capacity)
    }

    /// One that was held for as long as may be owes nothing to the next time.
    @Test func aPosterIsHeldEachTime() async {
        let gates = [Turnstile(), Turnstile()]
        defer { for gate in gates { gate.open() } }
        let recorder = Recorder { event in
            if case .head(let head) = event { gates[head.status - 200].pass() }
        }
        let mailbox = Mailbox(receive: recorder.receive)
        for (index, gate) in gates.enumerated() {
            mailbox.post(.head(ResponseHead(status: 200 + index)))
            let begun = ContinuousClock.now
            mailbox.post(.bytes(Data(count: Mailbox.capacity)))
            #expect(ContinuousClock.now - begun >= .milliseconds(Mailbox.brake.step - 1))
            gate.open()
            await withCheckedContinuation { continuation in mailbox.fence { continuation.resume() } }
        }
        mailbox.finish(.end)
        #expect(await recorder.end().bytes.count == 2 * Mailbox.capacity)
    }
}

/// Tells when it is freed.
private final class Token: Sendable {
    private let onFree: @Sendable () -> Void

    init(onFree: @escaping @Sendable () -> Void) {
        self.onFree = onFree
    }

    deinit {
        onFree()
    }
}
