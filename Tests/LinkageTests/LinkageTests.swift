import Foundation
import Testing

/// Who brings a transport of their own pays for no other: nothing of the default one is even loaded.
@Suite struct LinkageTests {
    #if os(Linux)
    @Test func aProgramOnCoreAloneLoadsNoNetworkingLibrary() throws {
        let (text, status) = try output(of: productsDirectory().appendingPathComponent("LinkageProbe"))
        #expect(status == 0)
        let libraries = text.split(separator: "\n").map { ($0 as NSString).lastPathComponent }
        // The list is a real one: what must be there is.
        #expect(libraries.contains { $0.hasPrefix("libFoundation") })
        #expect(!libraries.contains { $0.contains("libcurl") })
        #expect(!libraries.contains { $0.contains("FoundationNetworking") })
    }

    /// What a program prints, and how it ends. Not by `Process`, which may wait for ever where many files are open.
    private func output(of program: URL) throws -> (text: String, status: Int32) {
        let pipe = try #require(popen("exec '\(program.path)'", "r"))
        var output = Data()
        var piece = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&piece, 1, piece.count, pipe), count > 0 { output += piece[..<count] }
        return (String(decoding: output, as: UTF8.self), pclose(pipe))
    }

    private func productsDirectory() throws -> URL {
        let executable = try #require(ProcessInfo.processInfo.arguments.first)
        return URL(fileURLWithPath: executable).deletingLastPathComponent()
    }
    #endif
}
