import Foundation
import Testing

/// Who brings a transport of their own pays for no other: nothing of the default one is even loaded.
@Suite struct LinkageTests {
    #if os(Linux)
    @Test func aProgramOnCoreAloneLoadsNoNetworkingLibrary() throws {
        let process = Process()
        process.executableURL = try productsDirectory().appendingPathComponent("LinkageProbe")
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let libraries = text.split(separator: "\n").map { ($0 as NSString).lastPathComponent }
        // The list is a real one: what must be there is.
        #expect(libraries.contains { $0.hasPrefix("libFoundation") })
        #expect(!libraries.contains { $0.contains("libcurl") })
        #expect(!libraries.contains { $0.contains("FoundationNetworking") })
    }

    private func productsDirectory() throws -> URL {
        let executable = try #require(ProcessInfo.processInfo.arguments.first)
        return URL(fileURLWithPath: executable).deletingLastPathComponent()
    }
    #endif
}
