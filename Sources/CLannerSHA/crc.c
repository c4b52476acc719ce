// The Castagnoli checksum (RFC 3720, appendix B.4) with SSE 4.2 on x86-64, and with the CRC extension of ARMv8.

#include "CLannerSHA.h"
#include <string.h>

#if defined(__x86_64__)

#include <cpuid.h>

int lanner_has_crc32c(void) {
    unsigned int a, b, c, d;
    const unsigned int sse42 = 1u << 20;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & sse42) != 0;
}

#define WITH_CRC __attribute__((target("sse4.2")))
#define ADD_WORD(crc, word) (uint32_t)__builtin_ia32_crc32di(crc, word)
#define ADD_BYTE(crc, byte) __builtin_ia32_crc32qi(crc, byte)

#elif defined(__aarch64__) && !defined(__ARM_BIG_ENDIAN)

#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

int lanner_has_crc32c(void) {
#if defined(__APPLE__)
    // Not before A10.
    int has = 0;
    size_t size = sizeof has;
    return sysctlbyname("hw.optional.armv8_crc32", &has, &size, NULL, 0) == 0 && has;
#elif defined(__linux__)
    // HWCAP_CRC32 of Linux's <asm/hwcap.h>.
    return (getauxval(AT_HWCAP) & 1ul << 7) != 0;
#else
    return 0;
#endif
}

#define WITH_CRC __attribute__((target("crc")))
#define ADD_WORD(crc, word) __builtin_arm_crc32cd(crc, word)
#define ADD_BYTE(crc, byte) __builtin_arm_crc32cb(crc, byte)

#else

int lanner_has_crc32c(void) {
    return 0;
}

#define WITH_CRC
#define ADD_WORD(crc, word) ((void)(word), crc)
#define ADD_BYTE(crc, byte) ((void)(byte), crc)

#endif

WITH_CRC uint32_t lanner_crc32c(uint32_t crc, const void *bytes, size_t count) {
    const uint8_t *byte = bytes;
    for (; count >= 8; count -= 8, byte += 8) {
        uint64_t word;
        memcpy(&word, byte, 8);
        crc = ADD_WORD(crc, word);
    }
    for (; count > 0; count--, byte++) crc = ADD_BYTE(crc, *byte);
    return crc;
}
