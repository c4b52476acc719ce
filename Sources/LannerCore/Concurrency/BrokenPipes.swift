import Foundation

/// Does something on this thread that may write to a pipe or a connection nobody reads any more, and is not to be the end of
/// the process for that; where the signal for it is blocked it stays so.
///
/// Not for a pipe on Darwin: there the signal is the process's, and comes on any thread that has not blocked it. A
/// descriptor of one needs `F_SETNOSIGPIPE`.
package func withoutBrokenPipes(_ work: () -> Void) {
    var (signals, before, pending) = (sigset_t(), sigset_t(), sigset_t())
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    let isNew = pthread_sigmask(SIG_BLOCK, &signals, &before) == 0 && sigismember(&before, SIGPIPE) == 0
    work()
    guard isNew else { return }
    // One that waits would end the process at once.
    var number: Int32 = 0
    if sigpending(&pending) == 0, sigismember(&pending, SIGPIPE) == 1 { sigwait(&signals, &number) }
    pthread_sigmask(SIG_SETMASK, &before, nil)
}
