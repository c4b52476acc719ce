// What the disk alone takes of many small files: copies the files of a directory into the present one as a careful program
// does, each written under another name, synced and moved to its own, and the directory synced once for sixteen of them.
// cc -O2 -o synced_copies synced_copies.c -lpthread; synced_copies DIRECTORY [THREADS]
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct dirent **entries;
static int count, source, place;
static atomic_int next;

static void copy(const char *name, int number) {
    char temporary[32], bytes[1 << 16];
    snprintf(temporary, sizeof temporary, "%d.part", number);
    int from = openat(source, name, O_RDONLY), to = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (from < 0 || to < 0) err(1, "%s", name);
    ssize_t size;
    while ((size = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, size) != size) err(1, "%s", temporary);
    if (size < 0 || fdatasync(to) || rename(temporary, name) || close(to) || close(from)) err(1, "%s", name);
    if (number % 16 == 15 && fsync(place)) err(1, "sync");
}

static void *work(void *unused) {
    for (int number; (number = atomic_fetch_add(&next, 1)) < count;) copy(entries[number]->d_name, number);
    return unused;
}

static int is_shown(const struct dirent *entry) { return entry->d_name[0] != '.'; }

int main(int argc, char **argv) {
    if (argc < 2) errx(2, "usage: synced_copies DIRECTORY [THREADS]");
    int threads = argc > 2 ? atoi(argv[2]) : 16;
    if (threads < 1 || threads > 256) errx(2, "from 1 to 256 threads");
    source = open(argv[1], O_RDONLY | O_DIRECTORY);
    place = open(".", O_RDONLY | O_DIRECTORY);
    count = scandir(argv[1], &entries, is_shown, alphasort);
    if (source < 0 || place < 0 || count < 0) err(1, "%s", argv[1]);
    pthread_t thread[256];
    for (int number = 0; number < threads; number++)
        if (pthread_create(&thread[number], NULL, work, NULL)) errx(1, "no thread");
    for (int number = 0; number < threads; number++) pthread_join(thread[number], NULL);
    if (fsync(place)) err(1, "sync");
}
