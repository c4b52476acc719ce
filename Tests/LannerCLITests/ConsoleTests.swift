import Foundation
import Lanner
import Testing

@testable import LannerCLI

@Suite struct ConsoleTests {
    #if compiler(>=6.2) && (os(macOS) || os(Linux))
    /// In a process of its own: that of the other tests may have been told to hurry.
    @Test func waitsWhileAPipeIsFull() async {
        await #expect(processExitsWith: .success) {
            let pipe = Pipe()
            let (reader, writer) = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
            guard fcntl(writer.fileDescriptor, F_SETFL, O_NONBLOCK) == 0 else { exit(2) }
            // More than any pipe holds.
            let text = String(repeating: "x", count: 2 << 20)
            let code = Locked<Int32?>(nil)
            Thread.detachNewThread {
                let result = Console.write(text, to: writer.fileDescriptor)
                code.withLock { $0 = result }
                try? writer.close()
            }
            let count = try reader.readToEnd()?.count
            exit(count == text.utf8.count && code.withLock { $0 } == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }
    #endif
}
