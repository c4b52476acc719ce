#ifdef __linux__
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>
#endif
#ifdef __APPLE__
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/stat.h>
#endif
#include <errno.h>

#include "CLannerDisk.h"

#ifdef __linux__
static int is_memory(const struct statfs *status) {
    const unsigned tmpfs = 0x01021994, ramfs = 0x858458F6;
    return (unsigned)status->f_type == tmpfs || (unsigned)status->f_type == ramfs;
}
#endif

int lanner_disk_is_memory(int file) {
#ifdef __linux__
    struct statfs status;
    return fstatfs(file, &status) == 0 && is_memory(&status);
#else
    (void)file;
    return 0;
#endif
}

int lanner_disk_leads_to_memory(const char *path) {
#ifdef __linux__
    struct statfs status;
    return statfs(path, &status) == 0 && is_memory(&status);
#else
    (void)path;
    return 0;
#endif
}

#ifdef __linux__
/// Whether a path leads to a file system of one of these types.
static int leads_to(const char *path, const unsigned *types, size_t count) {
    struct statfs status;
    if (statfs(path, &status) != 0) return 0;
    for (size_t index = 0; index < count; index++) {
        if ((unsigned)status.f_type == types[index]) return 1;
    }
    return 0;
}
#elif defined(__APPLE__)
/// Whether a path leads to a file system with one of these names.
static int leads_to(const char *path, const char *one, const char *other) {
    struct statfs status;
    if (statfs(path, &status) != 0) return 0;
    return strcmp(status.f_fstypename, one) == 0 || strcmp(status.f_fstypename, other) == 0;
}
#endif

int lanner_disk_fills_gaps(const char *path) {
#ifdef __linux__
    // FAT, exFAT.
    static const unsigned filled[] = {0x4D44, 0x2011BAB0};
    return leads_to(path, filled, sizeof filled / sizeof *filled);
#elif defined(__APPLE__)
    return leads_to(path, "msdos", "exfat");
#else
    (void)path;
    return 0;
#endif
}

int lanner_disk_keeps_unsynced(const char *path) {
#ifdef __linux__
    // ext, XFS, Btrfs, F2FS, ZFS, bcachefs, JFS, ReiserFS; overlays of these; tmpfs and ramfs; those of a host (9P). Not
    // NFS, which tells only at a sync that its server is full.
    static const unsigned kept[] = {
        0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x2FC12FC1, 0xCA451A4E, 0x3153464A, 0x52654973,
        0x794C7630, 0x01021994, 0x858458F6, 0x01021997,
    };
    return leads_to(path, kept, sizeof kept / sizeof *kept);
#elif defined(__APPLE__)
    return leads_to(path, "apfs", "hfs");
#else
    (void)path;
    return 0;
#endif
}

int lanner_disk_birth(const char *path, char *text, int size) {
    if (!lanner_disk_keeps_unsynced(path)) return -1;
// Not every C library has a function for it.
#if defined(__linux__) && defined(STATX_BTIME)
    struct statx status;
    if (statx(AT_FDCWD, path, 0, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return -1;
    snprintf(text, size, "%lld.%09u", (long long)status.stx_btime.tv_sec, status.stx_btime.tv_nsec);
    return 0;
#elif defined(__APPLE__)
    struct stat status;
    if (stat(path, &status) != 0) return -1;
    // Who sets an earlier time of the last change sets this as well.
    snprintf(
        text, size, "%lld.%09ld-%llu", (long long)status.st_birthtimespec.tv_sec, status.st_birthtimespec.tv_nsec,
        (unsigned long long)status.st_ino);
    return 0;
#else
    (void)text, (void)size;
    return -1;
#endif
}

int lanner_disk_begin_sync(int file, int64_t offset, int64_t count) {
#ifdef __linux__
    return sync_file_range(file, offset, count, SYNC_FILE_RANGE_WRITE);
#else
    (void)file, (void)offset, (void)count;
    return 0;
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

int lanner_disk_rename_if_free(const char *path, const char *target) {
#if defined(__linux__) && defined(SYS_renameat2)
    // Not every C library has a function for it.
    const unsigned no_replace = 1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, target, no_replace);
#else
    (void)path, (void)target;
    errno = ENOSYS;
    return -1;
#endif
}

int64_t lanner_disk_unwritten(void) {
#ifdef __linux__
    char text[4096];
    int file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size <= 0) return -1;
    text[size] = 0;
    const char *dirty = strstr(text, "\nDirty:"), *leaving = strstr(text, "\nWriteback:");
    if (!dirty || !leaving) return -1;
    return (atoll(dirty + strlen("\nDirty:")) + atoll(leaving + strlen("\nWriteback:"))) * 1024;
#else
    return -1;
#endif
}

#ifdef __linux__
/// Before 5.8 nothing was told of bytes that could not be written, before 5.17 nothing of names.
static int tells_of_failures(void) {
    static atomic_int known = -1;
    if (known >= 0) return known;
    struct utsname name;
    int major = 0, minor = 0;
    if (uname(&name) != 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2) major = 0;
    return known = major > 5 || (major == 5 && minor >= 17);
}
#endif

int lanner_disk_may_sync_all(int file) {
#ifdef __linux__
    return tells_of_failures() && lanner_disk_is_plain(file);
#else
    (void)file;
    return 0;
#endif
}

int lanner_disk_sync_all(int file) {
#ifdef __linux__
    return syncfs(file);
#else
    (void)file;
    errno = EOPNOTSUPP;
    return -1;
#endif
}

int lanner_disk_check(int file) {
#ifdef __linux__
    return sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
#else
    (void)file;
    return 0;
#endif
}

int lanner_disk_hole(int file, int64_t from, int64_t *begin, int64_t *end) {
#ifdef __linux__
    struct stat status;
    // Others may make holes of zeros.
    if (!lanner_disk_is_plain(file) || fstat(file, &status) != 0) return 0;
    *begin = lseek(file, from, SEEK_HOLE);
    if (*begin < 0 || *begin >= status.st_size) return 0;
    *end = lseek(file, *begin, SEEK_DATA);
    if (*end < 0) *end = status.st_size;
    return 1;
#else
    (void)file, (void)from, (void)begin, (void)end;
    return 0;
#endif
}

int lanner_disk_is_whole(int file) {
    int64_t begin, end;
    return !lanner_disk_hole(file, 0, &begin, &end);
}
