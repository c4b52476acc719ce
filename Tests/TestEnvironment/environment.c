// What the environment of a user must not change about tests.
#include <stdlib.h>

#include "TestEnvironment.h"

// Servers of tests are on this machine: no proxy is asked for them, by the tests or by the programs that they run.
__attribute__((constructor)) static void leave_proxies_out(void) {
    setenv("no_proxy", "127.0.0.1,::1,localhost", 1);
    setenv("NO_PROXY", "127.0.0.1,::1,localhost", 1);
}
