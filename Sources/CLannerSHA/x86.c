// x86-64 with the SHA extensions (Intel's manual, volume 1, "SHA-NI"). The whole loop is assembly, so that a debug build
// is as fast as an optimized one.

#if defined(__x86_64__)

#include "CLannerSHA.h"
#include "Constants.h"
#include <cpuid.h>

int lanner_sha_kernels(void) {
    unsigned int a, b, c, d;
    const unsigned int ssse3 = 1u << 9, sha = 1u << 29;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & ssse3)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & sha)) return 0;
    return LANNER_SHA_HAS_SHA1 | LANNER_SHA_HAS_SHA256;
}

// The four words of a block that begin at a byte, each turned from big-endian by the shuffle in xmm9.
#define LOAD(offset, words) "movdqu " #offset "(%[blocks]), " words "\n pshufb %%xmm9, " words "\n"

// MARK: SHA-256

// xmm1 and xmm2 hold the state as the instruction wants it, A B E F and C D G H from the highest word down.
// Four rounds with the words and with the constants from a byte of the table on.
#define ROUNDS256(offset, words)             \
    "movdqa " words ", %%xmm0\n"             \
    "paddd " #offset "(%[k]), %%xmm0\n"      \
    "sha256rnds2 %%xmm1, %%xmm2\n"           \
    "pshufd $0x0e, %%xmm0, %%xmm0\n"         \
    "sha256rnds2 %%xmm2, %%xmm1\n"

// Replaces the oldest four words, `w0`, by the four that follow `w3`.
#define SCHEDULE256(w0, w1, w2, w3)          \
    "sha256msg1 " w1 ", " w0 "\n"            \
    "movdqa " w3 ", %%xmm0\n"                \
    "palignr $4, " w2 ", %%xmm0\n"           \
    "paddd %%xmm0, " w0 "\n"                 \
    "sha256msg2 " w3 ", " w0 "\n"

#define W0 "%%xmm3"
#define W1 "%%xmm4"
#define W2 "%%xmm5"
#define W3 "%%xmm6"

// Sixteen rounds, and the schedule of the sixteen after them.
#define SIXTEEN256(k0, k1, k2, k3)                              \
    ROUNDS256(k0, W0) SCHEDULE256(W0, W1, W2, W3)               \
    ROUNDS256(k1, W1) SCHEDULE256(W1, W2, W3, W0)               \
    ROUNDS256(k2, W2) SCHEDULE256(W2, W3, W0, W1)               \
    ROUNDS256(k3, W3) SCHEDULE256(W3, W0, W1, W2)

void lanner_sha256_blocks(uint32_t *state, const void *blocks, size_t count) {
    static const uint8_t big_endian_words[16] __attribute__((aligned(16))) = {
        3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
    };
    if (count == 0) return;
    __asm__ volatile(
        "movdqa %[order], %%xmm9\n"
        // D C B A and H G F E to the order of the rounds.
        "movdqu (%[state]), %%xmm1\n"
        "movdqu 16(%[state]), %%xmm2\n"
        "pshufd $0xb1, %%xmm1, %%xmm0\n"
        "pshufd $0x1b, %%xmm2, %%xmm2\n"
        "movdqa %%xmm0, %%xmm1\n"
        "palignr $8, %%xmm2, %%xmm1\n"
        "shufpd $2, %%xmm0, %%xmm2\n"
        "1:\n"
        "movdqa %%xmm1, %%xmm7\n"
        "movdqa %%xmm2, %%xmm8\n"
        LOAD(0, W0) LOAD(16, W1) LOAD(32, W2) LOAD(48, W3)
        SIXTEEN256(0, 16, 32, 48)
        SIXTEEN256(64, 80, 96, 112)
        SIXTEEN256(128, 144, 160, 176)
        ROUNDS256(192, W0) ROUNDS256(208, W1) ROUNDS256(224, W2) ROUNDS256(240, W3)
        "paddd %%xmm7, %%xmm1\n"
        "paddd %%xmm8, %%xmm2\n"
        "add $64, %[blocks]\n"
        "dec %[count]\n"
        "jnz 1b\n"
        // And back.
        "pshufd $0x1b, %%xmm1, %%xmm0\n"
        "pshufd $0xb1, %%xmm2, %%xmm2\n"
        "movdqa %%xmm2, %%xmm1\n"
        "palignr $8, %%xmm0, %%xmm1\n"
        "shufpd $2, %%xmm2, %%xmm0\n"
        "movdqu %%xmm0, (%[state])\n"
        "movdqu %%xmm1, 16(%[state])\n"
        : [blocks] "+r"(blocks), [count] "+r"(count)
        : [state] "r"(state), [k] "r"(lanner_sha256_constants), [order] "m"(big_endian_words)
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "cc", "memory");
}

// MARK: SHA-1

// xmm1 holds A B C D from the highest word down. E is the highest word of one of xmm0 and xmm2 in turn: the instructions
// take it, as `e`, from the A that was in `e` four rounds earlier.
#define ROUNDS1(kind, e, next, words)        \
    "sha1nexte " words ", " e "\n"           \
    "movdqa %%xmm1, " next "\n"              \
    "sha1rnds4 $" #kind ", " e ", %%xmm1\n"

// Replaces the oldest four words, `w0`, by the four that follow `w3`.
#define SCHEDULE1(w0, w1, w2, w3)            \
    "sha1msg1 " w1 ", " w0 "\n"              \
    "pxor " w2 ", " w0 "\n"                  \
    "sha1msg2 " w3 ", " w0 "\n"

#define EVEN(kind, words) ROUNDS1(kind, "%%xmm0", "%%xmm2", words)
#define ODD(kind, words) ROUNDS1(kind, "%%xmm2", "%%xmm0", words)

void lanner_sha1_blocks(uint32_t *state, const void *blocks, size_t count) {
    static const uint8_t reversed[16] __attribute__((aligned(16))) = {
        15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0,
    };
    if (count == 0) return;
    __asm__ volatile(
        "movdqa %[order], %%xmm9\n"
        "movdqu (%[state]), %%xmm1\n"
        "pshufd $0x1b, %%xmm1, %%xmm1\n"
        "movd 16(%[state]), %%xmm0\n"
        "pslldq $12, %%xmm0\n"
        "1:\n"
        "movdqa %%xmm1, %%xmm7\n"
        "movdqa %%xmm0, %%xmm8\n"
        LOAD(0, W0) LOAD(16, W1) LOAD(32, W2) LOAD(48, W3)
        // The first E is given, not the A of earlier rounds.
        "paddd " W0 ", %%xmm0\n"
        "movdqa %%xmm1, %%xmm2\n"
        "sha1rnds4 $0, %%xmm0, %%xmm1\n"
        SCHEDULE1(W0, W1, W2, W3)
        ODD(0, W1) SCHEDULE1(W1, W2, W3, W0)
        EVEN(0, W2) SCHEDULE1(W2, W3, W0, W1)
        ODD(0, W3) SCHEDULE1(W3, W0, W1, W2)
        EVEN(0, W0) SCHEDULE1(W0, W1, W2, W3)
        ODD(1, W1) SCHEDULE1(W1, W2, W3, W0)
        EVEN(1, W2) SCHEDULE1(W2, W3, W0, W1)
        ODD(1, W3) SCHEDULE1(W3, W0, W1, W2)
        EVEN(1, W0) SCHEDULE1(W0, W1, W2, W3)
        ODD(1, W1) SCHEDULE1(W1, W2, W3, W0)
        EVEN(2, W2) SCHEDULE1(W2, W3, W0, W1)
        ODD(2, W3) SCHEDULE1(W3, W0, W1, W2)
        EVEN(2, W0) SCHEDULE1(W0, W1, W2, W3)
        ODD(2, W1) SCHEDULE1(W1, W2, W3, W0)
        EVEN(2, W2) SCHEDULE1(W2, W3, W0, W1)
        ODD(3, W3) SCHEDULE1(W3, W0, W1, W2)
        EVEN(3, W0) ODD(3, W1) EVEN(3, W2) ODD(3, W3)
        "sha1nexte %%xmm8, %%xmm0\n"
        "paddd %%xmm7, %%xmm1\n"
        "add $64, %[blocks]\n"
        "dec %[count]\n"
        "jnz 1b\n"
        "pshufd $0x1b, %%xmm1, %%xmm1\n"
        "movdqu %%xmm1, (%[state])\n"
        "psrldq $12, %%xmm0\n"
        "movd %%xmm0, 16(%[state])\n"
        : [blocks] "+r"(blocks), [count] "+r"(count)
        : [state] "r"(state), [order] "m"(reversed)
        : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "cc", "memory");
}

#endif
