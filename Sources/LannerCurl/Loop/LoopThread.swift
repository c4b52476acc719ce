import CLannerCurl
import Dispatch
import LannerCore

/// A thread for what waits most of the time. Of Dispatch's a process has some 250 at once, those of the whole program:
/// many that wait would leave none to anybody else. It takes no SIGPIPE: libcurl is told not to touch signals, and TLS
/// libraries write without a flag against that one.
enum LoopThread {
    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    static func start(_ run: @escaping @Sendable () -> Void) {
        let work = Unmanaged.passRetained(Work(run))
        let result = lanner_curl_start_thread(
            { Unmanaged<Work>.fromOpaque($0).takeRetainedValue().run() }, work.toOpaque())
        guard result != 0 else { return }
        work.release()
        // The system has none for the moment: Dispatch waits for one, which others use afterwards.
        DispatchQueue(label: "lanner.curl", qos: .default).async { withoutBrokenPipes(run) }
    }
}
