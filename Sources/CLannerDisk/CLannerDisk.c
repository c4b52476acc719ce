#ifdef __linux__
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <fcntl.h>
#include <stdio.h>
#include <sys/vfs.h>
#endif
#include <errno.h>

#include "CLannerDisk.h"

void lanner_disk_begin_sync(int file, int64_t offset, int64_t count) {
#ifdef __linux__
    // What fails here is told by the sync. Not every file system does it.
    (void)sync_file_range(file, offset, count, SYNC_FILE_RANGE_WRITE);
#else
    (void)file, (void)offset, (void)count;
#endif
}

int lanner_disk_is_plain(int file) {
#ifdef __linux__
    const unsigned ext = 0xEF53, xfs = 0x58465342;
    struct statfs status;
    if (fstatfs(file, &status) != 0) return 0;
    return (unsigned)status.f_type == ext || (unsigned)status.f_type == xfs;
#else
    (void)file;
    return 0;
#endif
}

int lanner_disk_open_direct(int file) {
#ifdef __linux__
    // Elsewhere such writes go to a server one by one, are copied all the same, or are kept from being checked.
    if (!lanner_disk_is_plain(file)) return -1;
    if ((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY) return -1;
    // By its number: somebody may have renamed it.
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
#else
    (void)file;
    return -1;
#endif
}

int lanner_disk_allocate(int file, int64_t size) {
#ifdef __linux__
    return fallocate(file, FALLOC_FL_KEEP_SIZE, 0, size);
#else
    (void)file, (void)size;
    errno = EOPNOTSUPP;
    return -1;
#endif
}
