import Foundation

@testable import FuzzTargets

/// `lanner-fuzz`: names the targets. `lanner-fuzz TARGET [ARGUMENT…]`: runs libFuzzer with its own arguments on one.
@main enum Main {
    /// The fuzzer calls a function without a context, so that what it calls lies here. Set once, before it begins.
    nonisolated(unsafe) private static var target: FuzzTarget?

    /// The fuzzer starts this program again, for merges, with its own arguments alone: the target is known by this.
    private static let variable = "LANNER_FUZZ_TARGET"

    static func main() {
        var arguments = CommandLine.arguments
        guard arguments.count > 1 else { return print(FuzzTarget.all.map(\.name).joined(separator: "\n")) }
        let name = ProcessInfo.processInfo.environment[variable] ?? arguments.remove(at: 1)
        target = FuzzTarget.all.first { $0.name == name }
        guard target != nil else {
            FileHandle.standardError.write(Data("There is no target \(name).\n".utf8))
            exit(2)
        }
        setenv(variable, name, 1)
        exit(runFuzzer(arguments))
    }

    private static func runFuzzer(_ arguments: some Sequence<String>) -> CInt {
        var words = arguments.map { strdup($0) } + [nil]
        var count = CInt(words.count - 1)
        return words.withUnsafeMutableBufferPointer { words in
            var start = words.baseAddress
            return LLVMFuzzerRunDriver(&count, &start, attemptInput)
        }
    }

    /// A broken promise ends the process, which is how the fuzzer learns of it.
    fileprivate static func attempt(_ bytes: UnsafeBufferPointer<UInt8>) {
        do {
            try target?.attempt(Array(bytes))
        } catch {
            fatalError("\(error)")
        }
    }
}

/// What the fuzzer calls. By this name its own `main` does, which nobody runs but which a debug build links.
@_cdecl("LLVMFuzzerTestOneInput")
func attemptInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    Main.attempt(UnsafeBufferPointer(start: bytes, count: count))
    return 0
}

/// The fuzzer's entry for programs with a `main` of their own.
@_silgen_name("LLVMFuzzerRunDriver")
private func LLVMFuzzerRunDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ words: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ attempt: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
