import Foundation
import Lanner
import Testing

@testable import LannerCLI

@Suite struct ConsoleTests {
    @Test func waitsWhileAPipeIsFull() throws {
        let pipe = Pipe()
        let (reader, writer) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
        #expect(fcntl(writer.fileDescriptor, F_SETFL, O_NONBLOCK) == 0)
        // More than any pipe holds.
        let text = String(repeating: "x", count: 2 << 20)
        let code = Locked<Int32?>(nil)
        Thread.detachNewThread {
            let result = Console.write(text, to: writer.fileDescriptor)
            code.withLock { $0 = result }
            try? writer.close()
        }
        #expect(try reader.readToEnd()?.count == text.utf8.count)
        #expect(code.withLock { $0 } == 0)
    }
}
