// Makes the disk slow for a program it is preloaded into: its threads share a device that writes no more than
// SLOW_WRITE_BYTES_PER_SECOND, and every call that writes at a position waits until it would be through.
// cc -shared -fPIC -o slow_write.so slow_write.c -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

#define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// When the device is through with what it was given so far, in seconds.
static double due;

static void wait_for(size_t count) {
    const char *rate = getenv("SLOW_WRITE_BYTES_PER_SECOND");
    if (!rate || atof(rate) <= 0) return;
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    double now = time.tv_sec + time.tv_nsec / 1e9;
    pthread_mutex_lock(&lock);
    due = (due > now ? due : now) + count / atof(rate);
    time.tv_sec = (time_t)due;
    time.tv_nsec = (long)((due - time.tv_sec) * 1e9);
    pthread_mutex_unlock(&lock);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static size_t sum(const struct iovec *parts, int count) {
    size_t bytes = 0;
    for (int index = 0; index < count; index++) bytes += parts[index].iov_len;
    return bytes;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    wait_for(count);
    return REAL(pwrite)(file, bytes, count, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    wait_for(count);
    return REAL(pwrite64)(file, bytes, count, offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    wait_for(sum(parts, count));
    return REAL(pwritev)(file, parts, count, offset);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) {
    wait_for(sum(parts, count));
    return REAL(pwritev64)(file, parts, count, offset);
}

ssize_t pwritev2(int file, const struct iovec *parts, int count, off_t offset, int flags) {
    wait_for(sum(parts, count));
    return REAL(pwritev2)(file, parts, count, offset, flags);
}
