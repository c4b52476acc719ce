// A call to the system's disks that Swift does not reach: the C library shows it only to programs that ask for its own
// extensions.

#ifndef CLANNERDISK_H
#define CLANNERDISK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Has the kernel begin to bring a range of a file to its device, and does not wait until it is there, though it may for room
/// among what the device has yet to do. Nothing is promised of the bytes: a sync still has to follow, which finds less to
/// do. Does nothing where the system has no such call.
void lanner_disk_begin_sync(int file, int64_t offset, int64_t count);

#ifdef __cplusplus
}
#endif

#endif
