// Makes the disk slow for a program it is preloaded into: every pwrite waits as long as a device of
// SLOW_WRITE_BYTES_PER_SECOND would take. cc -shared -fPIC -o slow_write.so slow_write.c -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

typedef ssize_t (*pwrite_function)(int, const void *, size_t, off_t);

static void wait_for(size_t count) {
    const char *rate = getenv("SLOW_WRITE_BYTES_PER_SECOND");
    double seconds = rate && atof(rate) > 0 ? (double)count / atof(rate) : 0;
    struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    pwrite_function real = (pwrite_function)dlsym(RTLD_NEXT, "pwrite");
    wait_for(count);
    return real(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) {
    pwrite_function real = (pwrite_function)dlsym(RTLD_NEXT, "pwrite64");
    wait_for(count);
    return real(file, bytes, count, offset);
}
