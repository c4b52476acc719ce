// How soon what is asked of a download happens while fifty large ones run: real sockets, a real disk, the transport over
// libcurl, everything else as it is unless told otherwise. Exits with 1 when a figure is out of its bound.
//
//     swift run -c release control-bench [DIRECTORY]      to a directory of the disk; some minutes, 50 GiB set aside
//
// A call is to return in 5 ms, and what it asks for to be so in 100 ms: twice, at a rate that leaves the processor and the
// disk much to spare, and at one that leaves them little. As fast as it goes the files would be there before the end.

import Figures
import Foundation
import LannerCore

/// How often each verb is tried on one task, a task being taken for one verb only, and on all of them.
let rounds = Fifty.count / 2
let roundsOfAll = 20

func measure(_ title: String, in base: URL, rate: Int?) throws {
    let fifty = try Fifty(in: base, rate: rate)
    defer { fifty.end() }
    try fifty.settle()
    let (before, start) = (fifty.bytes, ContinuousClock.now)
    Thread.sleep(forTimeInterval: 3)
    let speed = Double(fifty.bytes - before) / (.now - start).milliseconds * 1000 / Double(1 << 20)
    print("\(title): \(Int(speed)) MiB/s")
    try single(fifty)
    try all(fifty)
}

/// Verbs on one task, another one each time.
func single(_ fifty: Fifty) throws {
    var suspends: [Trial] = []
    var starts: [Trial] = []
    var cancels: [Trial] = []
    let (manager, first) = (fifty.manager, fifty.tasks)
    for round in 0..<rounds {
        // All of them have run since the beginning: what is added in the place of those that are canceled comes last.
        let (task, other) = (first[round], fifty.tasks[Fifty.count - 1 - round])
        suspends.append(try Trial([task], become: .suspended) { manager.suspend(task) })
        letSettle()
        starts.append(try Trial([task], become: .running) { manager.start(task) })
        letSettle()
        cancels.append(try Trial([other], become: .canceled) { manager.cancel(other) })
        fifty.add()
        letSettle()
    }
    check("suspend", suspends)
    check("start", starts)
    check("cancel", cancels)
}

/// Verbs on all of them.
func all(_ fifty: Fifty) throws {
    var suspends: [Trial] = []
    var starts: [Trial] = []
    for _ in 0..<roundsOfAll {
        suspends.append(try Trial(fifty.tasks, become: .suspended) { fifty.manager.totalSuspend() })
        starts.append(try Trial(fifty.tasks, become: .running) { fifty.manager.totalStart() })
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
do {
    try measure("1 MiB a second over each connection", in: base, rate: 1 << 20)
    try measure("4 MiB a second over each connection", in: base, rate: 4 << 20)
} catch {
    print("FAIL \(error)")
    exit(1)
}
exit(failed ? 1 : 0)
