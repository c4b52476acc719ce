// The block functions of SHA-1 and SHA-256 (FIPS 180-4), and CRC-32C, in the processor's own instructions, which Swift
// cannot reach without compiler flags.

#ifndef CLANNERSHA_H
#define CLANNERSHA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang assume_nonnull begin

enum {
    LANNER_SHA_HAS_SHA1 = 1,
    LANNER_SHA_HAS_SHA256 = 2,
};

/// Which of the two this processor, and this build, has instructions for. The other function must not be called.
int lanner_sha_kernels(void);

/// Mixes `count` blocks of 64 bytes into a state of five words. The blocks may lie anywhere.
void lanner_sha1_blocks(uint32_t *state, const void *blocks, size_t count);

/// Mixes `count` blocks of 64 bytes into a state of eight words. The blocks may lie anywhere.
void lanner_sha256_blocks(uint32_t *state, const void *blocks, size_t count);

/// Whether this processor, and this build, has instructions for CRC-32C. Else the function must not be called.
int lanner_has_crc32c(void);

/// Goes on with a checksum over more bytes, which may lie anywhere; it is inverted before the first and after the last.
uint32_t lanner_crc32c(uint32_t crc, const void *bytes, size_t count);

#pragma clang assume_nonnull end

#ifdef __cplusplus
}
#endif

#endif
