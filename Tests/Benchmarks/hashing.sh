#!/bin/sh
# Hashing speed beside `openssl speed` without the SHA instructions, which Swift cannot reach: prints the medians of
# interleaved runs in MB/s of processor time, their ratio, and what the ratio should be. The last line is a debug build.
#
#     Tests/Benchmarks/hashing.sh [ROUNDS]      5 rounds; needs openssl 3
set -eu
cd "$(dirname "$0")"
rounds=${1:-5}
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

# Of CPUID leaf 7, only EBX bit 29 (SHA) is masked: openssl keeps its code for SSSE3, AVX2 and BMI2.
export OPENSSL_ia32cap=":~0x20000000"

swift build -c release --product hash-bench
swift build -c debug --product hash-bench
release=$(swift build -c release --show-bin-path)/hash-bench
debug=$(swift build -c debug --show-bin-path)/hash-bench

openssl_speed() { # ALGORITHM
    openssl speed -seconds 2 -bytes 1048576 -evp "$1" 2>/dev/null |
        awk 'END { sub(/k$/, "", $NF); printf "%.0f\n", $NF / 1000 }'
}

median() { # FILE
    sort -n "$1" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

round=0
while [ "$round" -lt "$rounds" ]; do
    for algorithm in md5 sha1 sha256 sha512; do
        "$release" 1024 "$algorithm" | cut -d ' ' -f 2 >>"$results/$algorithm"
        openssl_speed "$algorithm" >>"$results/$algorithm.openssl"
    done
    "$debug" 128 sha256 | cut -d ' ' -f 2 >>"$results/debug"
    round=$((round + 1))
done

printf '%-14s %8s %8s %6s %7s\n' algorithm Lanner openssl ratio wanted
for line in md5:0.95 sha1:0.80 sha256:0.75 sha512:-; do
    algorithm=${line%:*}
    ours=$(median "$results/$algorithm")
    theirs=$(median "$results/$algorithm.openssl")
    ratio=$(awk "BEGIN { printf \"%.2f\", $ours / $theirs }")
    printf '%-14s %8s %8s %6s %7s\n' "$algorithm" "$ours" "$theirs" "$ratio" "${line#*:}"
done
printf '%-14s %8s %8s %6s %7s\n' "sha256 debug" "$(median "$results/debug")" - - "100MB/s"
