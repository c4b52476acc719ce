#ifdef __linux__
#define _GNU_SOURCE
#include <fcntl.h>
#endif

#include "CLannerDisk.h"

void lanner_disk_begin_sync(int file, int64_t offset, int64_t count) {
#ifdef __linux__
    // What fails here is told by the sync. Not every file system does it.
    (void)sync_file_range(file, offset, count, SYNC_FILE_RANGE_WRITE);
#else
    (void)file, (void)offset, (void)count;
#endif
}
