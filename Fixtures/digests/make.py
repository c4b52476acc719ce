#!/usr/bin/env python3
"""Writes ALGORITHM.txt beside this script: lines "LENGTH HEX", the digests of the first LENGTH bytes of a pattern.

Every length to 300, and some that make up to 100 blocks. Byte i of the pattern is (167 i + 13 + i // 256) mod 256.
The digests are hashlib's: a second implementation.
"""
import hashlib
import pathlib

LENGTHS = [*range(301), *range(320, 6400, 64), *range(331, 12800, 331)]
PATTERN = bytes((167 * i + 13 + i // 256) % 256 for i in range(max(LENGTHS)))

for algorithm in ("md5", "sha1", "sha256", "sha512"):
    lines = [f"{length} {hashlib.new(algorithm, PATTERN[:length]).hexdigest()}\n" for length in LENGTHS]
    pathlib.Path(__file__).with_name(algorithm + ".txt").write_text("".join(lines))
