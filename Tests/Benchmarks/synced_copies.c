// What the disk alone takes of many small files: copies the files of a directory into the present one as a careful program
// does, each written under another name, synced and moved to its own. One thread copies; the other one syncs the file
// system for all that is there by then, and moves these, whose names go with the next sync.
// cc -O2 -o synced_copies synced_copies.c -lpthread; synced_copies DIRECTORY
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static struct dirent **entries;
static int count, source;
static atomic_int copied;
static sem_t more;

static char *temporary(char *name, int number) {
    sprintf(name, "%d.part", number);
    return name;
}

static void copy(int number) {
    char name[32], bytes[1 << 16];
    int from = openat(source, entries[number]->d_name, O_RDONLY);
    int to = open(temporary(name, number), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (from < 0 || to < 0) err(1, "%s", entries[number]->d_name);
    ssize_t size;
    while ((size = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, size) != size) err(1, "%s", name);
    if (size < 0 || close(to) || close(from)) err(1, "%s", name);
}

static void *copy_all(void *unused) {
    for (int number = 0; number < count; number++) {
        copy(number);
        atomic_store(&copied, number + 1);
        sem_post(&more);
    }
    return unused;
}

static int is_shown(const struct dirent *entry) { return entry->d_name[0] != '.'; }

int main(int argc, char **argv) {
    if (argc != 2) errx(2, "usage: synced_copies DIRECTORY");
    source = open(argv[1], O_RDONLY | O_DIRECTORY);
    int place = open(".", O_RDONLY | O_DIRECTORY);
    count = scandir(argv[1], &entries, is_shown, alphasort);
    if (source < 0 || place < 0 || count < 0) err(1, "%s", argv[1]);
    pthread_t thread;
    sem_init(&more, 0, 0);
    if (pthread_create(&thread, NULL, copy_all, NULL)) errx(1, "no thread");
    for (int moved = 0; moved < count;) {
        sem_wait(&more);
        int end = atomic_load(&copied);
        if (end > moved && syncfs(place)) err(1, "sync");
        char name[32];
        for (; moved < end; moved++)
            if (rename(temporary(name, moved), entries[moved]->d_name)) err(1, "%s", entries[moved]->d_name);
    }
    pthread_join(thread, NULL);
    if (syncfs(place)) err(1, "sync");
}
