#if os(macOS) || os(Linux)
import Foundation
import LannerCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A program in a process of its own, which leads a group of its own.
///
/// Foundation's own is not for all tests together, which have more than a thousand descriptors: on Linux it reads behind the
/// end of a long list of them, and hears of ends by `select`, which knows none from 1024 on.
package final class ChildProcess: Sendable {
    package struct Failed: Error, CustomStringConvertible {
        package var program: String
        package var code: Int32
        package var description: String { "\(program): \(String(cString: strerror(code)))" }
    }

    package let identifier: pid_t
    private let ending = Locked<Int32?>(nil)

    /// Starts a program in a directory. Three descriptors become its standard input, output and error, nil being one of
    /// which nothing comes and in which all is lost; it has no others.
    package init(
        _ program: String, _ arguments: [String], in directory: String? = nil, input: Int32? = nil,
        output: Int32? = nil,
        errors: Int32? = nil
    ) throws {
        #if canImport(Darwin)
        var (actions, attributes): (posix_spawn_file_actions_t?, posix_spawnattr_t?) = (nil, nil)
        #else
        var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (number, descriptor) in [input, output, errors].enumerated() {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            } else {
                posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
            }
        }
        if let directory { Self.changeDirectory(&actions, directory) }
        var (none, ordinary) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&ordinary)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE] { sigaddset(&ordinary, number) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &ordinary)
        var flags = Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        #if canImport(Darwin)
        flags |= Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
        #else
        Self.closeFrom(&actions, 3)
        #endif
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        let (words, variables) = (Self.texts([program] + arguments), Self.texts(environment))
        defer { (words + variables).forEach { free($0) } }
        var number = pid_t()
        let code = posix_spawn(&number, program, &actions, &attributes, words, variables)
        if code != 0 { throw Failed(program: program, code: code) }
        identifier = number
    }

    #if canImport(Darwin)
    private static func changeDirectory(_ actions: inout posix_spawn_file_actions_t?, _ directory: String) {
        posix_spawn_file_actions_addchdir_np(&actions, directory)
    }
    #else
    // Swift does not see what the C library has beyond the standard.
    private typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>

    private static func changeDirectory(_ actions: Actions, _ directory: String) {
        typealias Function = @convention(c) (Actions, UnsafePointer<CChar>) -> Int32
        let function = unsafeBitCast(dlsym(nil, "posix_spawn_file_actions_addchdir_np"), to: Function?.self)
        precondition(function?(actions, directory) == 0)
    }

    private static func closeFrom(_ actions: Actions, _ first: Int32) {
        typealias Function = @convention(c) (Actions, Int32) -> Int32
        let function = unsafeBitCast(dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"), to: Function?.self)
        precondition(function?(actions, first) == 0)
    }
    #endif

    /// Copies, with a null behind them.
    private static func texts(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] { texts.map { strdup($0) } + [nil] }

    /// The exit code, or the negative number of the signal that killed it; nil while it runs.
    package var result: Int32? {
        ending.withLock { ending in
            var status: Int32 = 0
            if ending == nil, waitpid(identifier, &status, WNOHANG) == identifier {
                ending = status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
            }
            return ending
        }
    }

    /// Returns when it has ended, with the same.
    package func wait() -> Int32 {
        while true {
            if let result { return result }
            var info = siginfo_t()
            _ = waitid(P_PID, id_t(identifier), &info, WEXITED | WNOWAIT)
        }
    }

    /// Kills it, if it still runs, and waits for its end.
    package func end() {
        if result == nil { kill(identifier, SIGKILL) }
        _ = wait()
    }
}
#endif
