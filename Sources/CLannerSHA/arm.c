// ARMv8 with the cryptographic extension (ACLE, "SHA1 instructions", "SHA2 instructions"). Every arm64 processor of Apple
// has it; elsewhere the kernel is asked.

#if defined(__aarch64__)

#include "CLannerSHA.h"
#include "Constants.h"
#include <arm_neon.h>

#if defined(__linux__)
#include <sys/auxv.h>
#endif

int lanner_sha_kernels(void) {
#if defined(__ARM_BIG_ENDIAN)
    return 0;
#elif defined(__APPLE__)
    return LANNER_SHA_HAS_SHA1 | LANNER_SHA_HAS_SHA256;
#elif defined(__linux__)
    // HWCAP_SHA1 and HWCAP_SHA2 of Linux's <asm/hwcap.h>.
    const unsigned long sha1 = 1ul << 5, sha2 = 1ul << 6, has = getauxval(AT_HWCAP);
    return (has & sha1 ? LANNER_SHA_HAS_SHA1 : 0) | (has & sha2 ? LANNER_SHA_HAS_SHA256 : 0);
#else
    return 0;
#endif
}

#define WITH_SHA __attribute__((target("sha2")))

// The four words of a block from a byte on.
#define LOAD(offset) vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(block + (offset))))

// MARK: SHA-256

// Four rounds with the words and with the constants from a number of the table on.
#define ROUNDS256(k, words)                                                  \
    do {                                                                     \
        const uint32x4_t keyed = vaddq_u32(words, vld1q_u32(constants + k)); \
        const uint32x4_t before = abcd;                                      \
        abcd = vsha256hq_u32(abcd, efgh, keyed);                             \
        efgh = vsha256h2q_u32(efgh, before, keyed);                          \
    } while (0)

// The four words that follow `w3`.
#define NEXT256(w0, w1, w2, w3) vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3)

WITH_SHA void lanner_sha256_blocks(uint32_t *state, const void *blocks, size_t count) {
    const uint32_t *const constants = lanner_sha256_constants;
    const uint8_t *block = blocks;
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (; count > 0; count--, block += 64) {
        const uint32x4_t abcd_before = abcd, efgh_before = efgh;
        uint32x4_t w0 = LOAD(0), w1 = LOAD(16), w2 = LOAD(32), w3 = LOAD(48);
        for (int k = 0; k < 48; k += 16) {
            ROUNDS256(k, w0);
            w0 = NEXT256(w0, w1, w2, w3);
            ROUNDS256(k + 4, w1);
            w1 = NEXT256(w1, w2, w3, w0);
            ROUNDS256(k + 8, w2);
            w2 = NEXT256(w2, w3, w0, w1);
            ROUNDS256(k + 12, w3);
            w3 = NEXT256(w3, w0, w1, w2);
        }
        ROUNDS256(48, w0);
        ROUNDS256(52, w1);
        ROUNDS256(56, w2);
        ROUNDS256(60, w3);
        abcd = vaddq_u32(abcd, abcd_before);
        efgh = vaddq_u32(efgh, efgh_before);
    }
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

// MARK: SHA-1

// Four rounds: choose, parity or majority, with the constant of their quarter.
#define ROUNDS1(function, constant, words)                                   \
    do {                                                                     \
        const uint32x4_t keyed = vaddq_u32(words, vdupq_n_u32(constant));    \
        const uint32_t next = vsha1h_u32(vgetq_lane_u32(abcd, 0));           \
        abcd = function(abcd, e, keyed);                                     \
        e = next;                                                            \
    } while (0)
#define CHOOSE(words) ROUNDS1(vsha1cq_u32, 0x5a827999, words)
#define PARITY(words) ROUNDS1(vsha1pq_u32, 0x6ed9eba1, words)
#define MAJORITY(words) ROUNDS1(vsha1mq_u32, 0x8f1bbcdc, words)
#define LAST(words) ROUNDS1(vsha1pq_u32, 0xca62c1d6, words)

// Replaces the oldest four words, `w0`, by the four that follow `w3`.
#define SCHEDULE1(w0, w1, w2, w3) w0 = vsha1su1q_u32(vsha1su0q_u32(w0, w1, w2), w3)

WITH_SHA void lanner_sha1_blocks(uint32_t *state, const void *blocks, size_t count) {
    const uint8_t *block = blocks;
    uint32x4_t abcd = vld1q_u32(state);
    uint32_t e = state[4];
    for (; count > 0; count--, block += 64) {
        const uint32x4_t abcd_before = abcd;
        const uint32_t e_before = e;
        uint32x4_t w0 = LOAD(0), w1 = LOAD(16), w2 = LOAD(32), w3 = LOAD(48);
        CHOOSE(w0);   SCHEDULE1(w0, w1, w2, w3);
        CHOOSE(w1);   SCHEDULE1(w1, w2, w3, w0);
        CHOOSE(w2);   SCHEDULE1(w2, w3, w0, w1);
        CHOOSE(w3);   SCHEDULE1(w3, w0, w1, w2);
        CHOOSE(w0);   SCHEDULE1(w0, w1, w2, w3);
        PARITY(w1);   SCHEDULE1(w1, w2, w3, w0);
        PARITY(w2);   SCHEDULE1(w2, w3, w0, w1);
        PARITY(w3);   SCHEDULE1(w3, w0, w1, w2);
        PARITY(w0);   SCHEDULE1(w0, w1, w2, w3);
        PARITY(w1);   SCHEDULE1(w1, w2, w3, w0);
        MAJORITY(w2); SCHEDULE1(w2, w3, w0, w1);
        MAJORITY(w3); SCHEDULE1(w3, w0, w1, w2);
        MAJORITY(w0); SCHEDULE1(w0, w1, w2, w3);
        MAJORITY(w1); SCHEDULE1(w1, w2, w3, w0);
        MAJORITY(w2); SCHEDULE1(w2, w3, w0, w1);
        LAST(w3);     SCHEDULE1(w3, w0, w1, w2);
        LAST(w0);
        LAST(w1);
        LAST(w2);
        LAST(w3);
        abcd = vaddq_u32(abcd, abcd_before);
        e += e_before;
    }
    vst1q_u32(state, abcd);
    state[4] = e;
}

#endif
