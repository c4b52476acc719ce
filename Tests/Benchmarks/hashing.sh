#!/bin/sh
# Hashing speed beside `openssl speed`, with the processor's SHA instructions and without them: prints the medians of
# interleaved runs in MB/s of processor time, of a debug build too, and ours by theirs.
#
#     Tests/Benchmarks/hashing.sh [ROUNDS]      5 rounds; needs openssl 3
set -eu
cd "$(dirname "$0")"
rounds=${1:-5}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

swift build -c release --product hash-bench
swift build -c debug --product hash-bench
release=$(swift build -c release --show-bin-path)/hash-bench
debug=$(swift build -c debug --show-bin-path)/hash-bench

openssl_speed() { # ALGORITHM
    openssl speed -seconds 2 -bytes 1048576 -evp "$1" 2>/dev/null |
        awk 'END { sub(/k$/, "", $NF); printf "%.0f\n", $NF / 1000 }'
}

# Of CPUID leaf 7, only EBX bit 29 (SHA) is masked: openssl keeps its code for SSSE3, AVX2 and BMI2.
masked_speed() { # ALGORITHM
    OPENSSL_ia32cap=":~0x20000000" openssl_speed "$1"
}

median() { # FILE
    sort -n "$1" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

ratio() { # OURS THEIRS
    awk "BEGIN { printf \"%.2f\", $1 / $2 }"
}

round=0
while [ "$round" -lt "$rounds" ]; do
    for algorithm in md5 sha1 sha256 sha512; do
        "$release" 1024 "$algorithm" | cut -d ' ' -f 2 >>"$results/$algorithm"
        openssl_speed "$algorithm" >>"$results/$algorithm.openssl"
        masked_speed "$algorithm" >>"$results/$algorithm.masked"
        "$debug" 256 "$algorithm" | cut -d ' ' -f 2 >>"$results/$algorithm.debug"
    done
    round=$((round + 1))
done

printf '%-9s %8s %8s %8s %8s %6s %6s %8s\n' algorithm Lanner debug openssl masked ratio debug masked
for algorithm in md5 sha1 sha256 sha512; do
    ours=$(median "$results/$algorithm")
    debugged=$(median "$results/$algorithm.debug")
    theirs=$(median "$results/$algorithm.openssl")
    masked=$(median "$results/$algorithm.masked")
    printf '%-9s %8s %8s %8s %8s %6s %6s %8s\n' "$algorithm" "$ours" "$debugged" "$theirs" "$masked" \
        "$(ratio "$ours" "$theirs")" "$(ratio "$debugged" "$theirs")" "$(ratio "$ours" "$masked")"
done
