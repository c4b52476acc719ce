// Runs a program and writes what it took to FILE: seconds, seconds of processor, how many of these the kernel had, peak
// memory in KiB, and how often one of its threads had to stop for another or for nothing to do.
// measure FILE PROGRAM WORDS…
//
// A process of its own, as Linux counts the memory of whoever starts a program to that program's peak.
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static double seconds(struct timeval time) {
    return time.tv_sec + time.tv_usec * 1e-6;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    double start = now();
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
        execvp(words[2], words + 2);
        perror(words[2]);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child) return 1;
    double wall = now() - start;
    FILE *file = fopen(words[1], "w");
    if (!file) return 1;
    double kernel = seconds(usage.ru_stime);
    fprintf(file, "%.6f %.6f %.6f %ld %ld\n", wall, seconds(usage.ru_utime) + kernel, kernel, usage.ru_maxrss,
            usage.ru_nvcsw + usage.ru_nivcsw);
    if (fclose(file)) return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
