// How soon what is asked of a download happens while fifty large ones run: real sockets, a real disk, the transport over
// libcurl, everything else as it is unless told otherwise. Exits with 1 when a figure is out of its bound.
//
//     swift run -c release control-bench [DIRECTORY]      to a directory of the disk; some minutes, 50 GiB set aside
//
// A call is to return in 5 ms, and what it asks for to be so in 100 ms: twice, at a rate that leaves the processor and the
// disk something to spare, and as fast as both go.

import Figures
import Foundation
import LannerCore

/// How often each verb is tried on one task, a task being taken for one verb only, and on all of them.
let rounds = Fifty.count / 2
let roundsOfAll = 20

func measure(_ title: String, in base: URL, rate: Int?) throws {
    let fifty = try Fifty(in: base, rate: rate)
    fifty.settle()
    let (before, start) = (fifty.bytes, ContinuousClock.now)
    Thread.sleep(forTimeInterval: 3)
    let speed = Double(fifty.bytes - before) / (.now - start).milliseconds * 1000 / Double(1 << 20)
    print("\(title): \(Int(speed)) MiB/s")
    single(fifty)
    all(fifty)
    fifty.end()
}

/// Verbs on one task, another one each time.
func single(_ fifty: Fifty) {
    var suspends: [Trial] = []
    var starts: [Trial] = []
    var cancels: [Trial] = []
    let (manager, first) = (fifty.manager, fifty.tasks)
    for round in 0..<rounds {
        // All of them have run since the beginning: what is added in the place of those that are canceled comes last.
        let (task, other) = (first[round], fifty.tasks[Fifty.count - 1 - round])
        suspends.append(Trial([task], become: .suspended) { manager.suspend(task) })
        letSettle()
        starts.append(Trial([task], become: .running) { manager.start(task) })
        letSettle()
        cancels.append(Trial([other], become: .canceled) { manager.cancel(other) })
        fifty.add()
        letSettle()
    }
    check("suspend", suspends)
    check("start", starts)
    check("cancel", cancels)
}

/// Verbs on all of them.
func all(_ fifty: Fifty) {
    var suspends: [Trial] = []
    var starts: [Trial] = []
    for _ in 0..<roundsOfAll {
        suspends.append(Trial(fifty.tasks, become: .suspended) { fifty.manager.totalSuspend() })
        starts.append(Trial(fifty.tasks, become: .running) { fifty.manager.totalStart() })
        Thread.sleep(forTimeInterval: 1)
    }
    check("totalSuspend of 50", suspends)
    check("totalStart of 50", starts)
}

/// Lets the load get over the last trial.
func letSettle() {
    Thread.sleep(forTimeInterval: 0.1)
}

let arguments = CommandLine.arguments.dropFirst()
if arguments.first == ServerProcess.argument {
    try ServerProcess.serve(Array(arguments.dropFirst()))
    exit(0)
}
let base = URL(fileURLWithPath: arguments.first ?? NSTemporaryDirectory())
try measure("1 MiB a second over each connection", in: base, rate: 1 << 20)
try measure("as fast as it goes", in: base, rate: nil)
exit(failed ? 1 : 0)
