// Writes a file in pieces of one size into space set aside before, and prints the seconds it took:
// write_sizes FILE MEBIBYTES PIECE
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    long total = atol(words[2]) << 20, piece = atol(words[3]);
    char *bytes = malloc(piece);
    if (!bytes) return 1;
    memset(bytes, 7, piece);
    int file = open(words[1], O_CREAT | O_TRUNC | O_RDWR, 0600);
    if (file < 0 || posix_fallocate(file, 0, total)) return 1;
    double start = now();
    for (long position = 0; position < total; position += piece)
        if (pwrite(file, bytes, piece, position) != piece) return 1;
    printf("%.2f\n", now() - start);
    return 0;
}
