// Processors without instructions for SHA that we know of.

#if !defined(__x86_64__) && !defined(__aarch64__)

#include "CLannerSHA.h"

int lanner_sha_kernels(void) {
    return 0;
}

void lanner_sha1_blocks(uint32_t *state, const void *blocks, size_t count) {
    (void)state, (void)blocks, (void)count;
}

void lanner_sha256_blocks(uint32_t *state, const void *blocks, size_t count) {
    (void)state, (void)blocks, (void)count;
}

#endif
