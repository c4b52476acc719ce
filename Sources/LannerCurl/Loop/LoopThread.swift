import CLannerCurl
import Dispatch

/// A thread for what waits most of the time. Of Dispatch's a process has some 250 at once, those of the whole program:
/// many that wait would leave none to anybody else.
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
        // The system has none for the moment: Dispatch waits for one.
        DispatchQueue(label: "lanner.curl", qos: .default).async(execute: run)
    }
}
