// Calls to the system's disks that Swift does not reach: the C library shows them only to programs that ask for its own
// extensions.

#ifndef CLANNERDISK_H
#define CLANNERDISK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Has the kernel begin to bring a range of a file to its device, 0 bytes being all behind the offset, and does not wait until
/// it is there, though it may for room among what the device has yet to do. Nothing is promised of the bytes: a sync still has
/// to follow, which finds less to do. 0, also where the system has no such call; or -1 with `errno`, and no sync tells that
/// again: file systems may give up bytes for which they find no place, and forget it (ext4 does).
int lanner_disk_begin_sync(int file, int64_t offset, int64_t count);

/// Whether an open file lies in memory, where syncs do nothing: tmpfs and ramfs. 0 for others.
int lanner_disk_is_memory(int file);

/// The same of what a path leads to.
int lanner_disk_leads_to_memory(const char *path);

/// Whether a path leads to a file system whose files have no holes: FAT and exFAT. Who writes behind the end of a file waits
/// there until zeros are written up to that. 0 for others.
int lanner_disk_fills_gaps(const char *path);

/// Writes down when the system made what a path leads to, as no program can set it: with its number, where the time alone
/// could be. 0; or -1 where that is not known, as of servers and of FAT, whose times can be set or change by themselves.
int lanner_disk_birth(const char *path, char *text, int size);

/// Whether what was written to a file system that a path leads to is there for as long as the machine runs, synced or not.
/// 0 for those of sticks, which may be away meanwhile, for servers of which that is not known, and for unknown ones.
int lanner_disk_keeps_unsynced(const char *path);

/// Whether a file lies on a file system of a disk of this machine that is known to do nothing unexpected: ext2 to ext4, and
/// XFS. 0 for others.
int lanner_disk_is_plain(int file);

/// Opens a file that is open for writing once more, for writes that go around the kernel's cache, from memory to the device
/// (`O_DIRECT`): positions, lengths and addresses in memory have to be multiples of the device's blocks. -1 where there is no
/// such thing, and on file systems that are not known to gain by it.
int lanner_disk_open_direct(int file);

/// Sets space aside for a file's first bytes without making it longer (`fallocate`). `posix_fallocate`, which Swift reaches,
/// makes it longer, and writes zeros where the file system cannot set space aside. 0, or -1 with `errno`: EOPNOTSUPP where
/// this cannot be done.
int lanner_disk_allocate(int file, int64_t size);

/// Whether the files of an open file's file system may be synced all at once: it is plain, and its failures are told
/// (Linux 5.17). 0 when not.
int lanner_disk_may_sync_all(int file);

/// Renames a file, unless something has the name. 0, or -1 and EEXIST; EINVAL or ENOSYS where no kernel or file system can.
int lanner_disk_rename_if_free(const char *path, const char *target);

/// How many bytes all programs together have written that no device has yet; -1 where that cannot be told. The kernel
/// writes a text for each look: many times what it takes to ask about one file.
int64_t lanner_disk_unwritten(void);

/// Brings all that was written to the file system of an open file to its device: the bytes and names of all files (`syncfs`).
/// Which bytes could not be brought there is not told, nor is everything that went wrong: a sync of a file has to follow, and
/// `lanner_disk_check` of each other one that matters. 0, or -1 with `errno`.
int lanner_disk_sync_all(int file);

/// Waits for what is on its way from a file to its device, and writes what a sync of all has left; 0, or -1 with `errno` when
/// some of it fails now, or has failed since the file was opened, and that was not told yet. What it writes by itself is not
/// flushed by it, nor is the record of where that lies: whoever moves the file then syncs its directory, and all with it.
int lanner_disk_check(int file);

/// Whether a file has bytes from its beginning to its end; 0 when something is missing, be it only on the device. 1 where
/// that cannot be told.
int lanner_disk_is_whole(int file);

/// The first part of a file from a position on that it has no bytes for, though it is within its size; 0 where there is none,
/// or that cannot be told. Bytes that are only in the cache count as there.
int lanner_disk_hole(int file, int64_t from, int64_t *begin, int64_t *end);

#ifdef __cplusplus
}
#endif

#endif
