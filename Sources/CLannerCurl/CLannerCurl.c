#include "CLannerCurl.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <unistd.h>

typedef lanner_curl_easy easy_t;
typedef lanner_curl_multi multi_t;
typedef lanner_curl_list list_t;

// The beginning of `curl_version_info_data`, the same in every version.
struct version_info {
    int age;
    const char *version;
    unsigned int version_num;
};

// The beginning of `CURLMsg`, of which there is no more.
struct message {
    int what;
    easy_t *easy;
    union {
        void *any;
        int result;
    } data;
};

enum { GLOBAL_ALL = 3, VERSION_FIRST = 0, PAUSE_NOTHING = 0, PAUSE_SEND = 4, MESSAGE_DONE = 1 };

// `OPENSSL_INIT_NO_ATEXIT`
enum { OPENSSL_NO_ATEXIT = 0x80000 };

static struct {
    int (*global_init)(long);
    struct version_info *(*version_info)(int);
    const char *(*easy_strerror)(int);
    easy_t *(*easy_init)(void);
    void (*easy_cleanup)(easy_t *);
    void (*easy_reset)(easy_t *);
    int (*easy_setopt)(easy_t *, int, ...);
    int (*easy_getinfo)(easy_t *, int, ...);
    int (*easy_pause)(easy_t *, int);
    list_t *(*slist_append)(list_t *, const char *);
    void (*slist_free_all)(list_t *);
    const char *(*multi_strerror)(int);
    multi_t *(*multi_init)(void);
    int (*multi_cleanup)(multi_t *);
    int (*multi_setopt)(multi_t *, int, ...);
    int (*multi_add_handle)(multi_t *, easy_t *);
    int (*multi_remove_handle)(multi_t *, easy_t *);
    int (*multi_perform)(multi_t *, int *);
    int (*multi_poll)(multi_t *, void *, unsigned int, int, int *);
    int (*multi_wakeup)(multi_t *);
    struct message *(*multi_info_read)(multi_t *, int *);
} curl;

static const struct {
    const char *name;
    void *place;
} functions[] = {
#define FUNCTION(name) {"curl_" #name, &curl.name}
    FUNCTION(global_init),
    FUNCTION(version_info),
    FUNCTION(easy_strerror),
    FUNCTION(easy_init),
    FUNCTION(easy_cleanup),
    FUNCTION(easy_reset),
    FUNCTION(easy_setopt),
    FUNCTION(easy_getinfo),
    FUNCTION(easy_pause),
    FUNCTION(slist_append),
    FUNCTION(slist_free_all),
    FUNCTION(multi_strerror),
    FUNCTION(multi_init),
    FUNCTION(multi_cleanup),
    FUNCTION(multi_setopt),
    FUNCTION(multi_add_handle),
    FUNCTION(multi_remove_handle),
    FUNCTION(multi_perform),
    FUNCTION(multi_poll),
    FUNCTION(multi_wakeup),
    FUNCTION(multi_info_read),
#undef FUNCTION
};

static void tell(const char *words, char *problem, size_t room) {
    if (room > 0) snprintf(problem, room, "%s", words ? words : "");
}

static unsigned int version(void *library) {
    struct version_info *(*info)(int);
    *(void **)&info = dlsym(library, "curl_version_info");
    return info ? info(VERSION_FIRST)->version_num : 0;
}

// OpenSSL would take itself down when the process exits, while our threads go on speaking through it, and so end the
// process by a signal. Before its first use only; without effect where somebody else has begun with it.
static void keep_tls_until_the_end(void *library) {
    int (*init)(uint64_t, const void *);
    *(void **)&init = dlsym(library, "OPENSSL_init_crypto");
    if (init) init(OPENSSL_NO_ATEXIT, NULL);
}

enum lanner_curl_loading lanner_curl_load(
    const char *name, unsigned int *version_number, char *problem, size_t room) {
    *version_number = 0;
    // Never unloaded: it may have threads of its own.
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        tell(dlerror(), problem, room);
        return LANNER_CURL_NOT_FOUND;
    }
    *version_number = version(library);
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        void *function = dlsym(library, functions[index].name);
        if (!function) {
            tell(dlerror(), problem, room);
            return LANNER_CURL_INCOMPLETE;
        }
        *(void **)functions[index].place = function;
    }
    keep_tls_until_the_end(library);
    int result = curl.global_init(GLOBAL_ALL);
    if (result != 0) {
        tell(curl.easy_strerror(result), problem, room);
        return LANNER_CURL_NOT_FOUND;
    }
    return LANNER_CURL_LOADED;
}

// Of UDP, for that a connection is only a look for a route.
static int has_route(int family, const void *address, socklen_t size) {
    int descriptor = socket(family, SOCK_DGRAM, 0);
    // Without a descriptor to spare nothing can be said; without the family there is none.
    if (descriptor < 0) return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    int result = connect(descriptor, address, size);
    close(descriptor);
    return result == 0;
}

int lanner_curl_has_route(void) {
    // Addresses for documentation (RFC 5737, RFC 3849): nobody has them, and only a default route leads there.
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(443)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(443)};
    inet_pton(AF_INET, "192.0.2.1", &four.sin_addr);
    inet_pton(AF_INET6, "2001:db8::1", &six.sin6_addr);
    return has_route(AF_INET, &four, sizeof four) || has_route(AF_INET6, &six, sizeof six);
}

const char *lanner_curl_text(int result) { return curl.easy_strerror(result); }
const char *lanner_curl_multi_text(int result) { return curl.multi_strerror(result); }

easy_t *lanner_curl_easy_make(void) { return curl.easy_init(); }
void lanner_curl_easy_free(easy_t *easy) { curl.easy_cleanup(easy); }
void lanner_curl_easy_reset(easy_t *easy) { curl.easy_reset(easy); }

int lanner_curl_set_number(easy_t *easy, enum lanner_curl_option option, long value) {
    return curl.easy_setopt(easy, (int)option, value);
}

int lanner_curl_set_text(easy_t *easy, enum lanner_curl_option option, const char *value) {
    return curl.easy_setopt(easy, (int)option, value);
}

int lanner_curl_set_pointer(easy_t *easy, enum lanner_curl_option option, void *value) {
    return curl.easy_setopt(easy, (int)option, value);
}

int lanner_curl_set_list(easy_t *easy, enum lanner_curl_option option, list_t *value) {
    return curl.easy_setopt(easy, (int)option, value);
}

int lanner_curl_set_receiver(easy_t *easy, enum lanner_curl_option option, lanner_curl_receiver value) {
    return curl.easy_setopt(easy, (int)option, value);
}

// A `curl_sockopt_callback`; what cannot be set is no reason to go without a connection.
static int close_in_children(void *context, int descriptor, int purpose) {
    (void)context, (void)purpose;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return 0;
}

int lanner_curl_close_in_children(easy_t *easy) {
    return curl.easy_setopt(easy, LANNER_CURL_SOCKET_FUNCTION, close_in_children);
}

long lanner_curl_number(easy_t *easy, enum lanner_curl_info info) {
    long value = 0;
    return curl.easy_getinfo(easy, (int)info, &value) == 0 ? value : 0;
}

void lanner_curl_go(easy_t *easy) { curl.easy_pause(easy, PAUSE_NOTHING); }
void lanner_curl_offer(easy_t *easy) { curl.easy_pause(easy, PAUSE_SEND); }

list_t *lanner_curl_list_append(list_t *list, const char *line) { return curl.slist_append(list, line); }
void lanner_curl_list_free(list_t *list) { curl.slist_free_all(list); }

multi_t *lanner_curl_multi_make(void) { return curl.multi_init(); }
void lanner_curl_multi_free(multi_t *multi) { curl.multi_cleanup(multi); }

int lanner_curl_multi_set_number(multi_t *multi, enum lanner_curl_multi_option option, long value) {
    return curl.multi_setopt(multi, (int)option, value);
}

int lanner_curl_multi_add(multi_t *multi, easy_t *easy) { return curl.multi_add_handle(multi, easy); }
int lanner_curl_multi_remove(multi_t *multi, easy_t *easy) { return curl.multi_remove_handle(multi, easy); }

int lanner_curl_multi_perform(multi_t *multi) {
    int running = 0;
    return curl.multi_perform(multi, &running);
}

int lanner_curl_multi_wait(multi_t *multi, int milliseconds) {
    return curl.multi_poll(multi, NULL, 0, milliseconds, NULL);
}

int lanner_curl_multi_wake(multi_t *multi) { return curl.multi_wakeup(multi); }

easy_t *lanner_curl_multi_next_done(multi_t *multi, int *result) {
    int left = 0;
    struct message *message;
    while ((message = curl.multi_info_read(multi, &left))) {
        if (message->what != MESSAGE_DONE) continue;
        *result = message->data.result;
        return message->easy;
    }
    return NULL;
}

struct call {
    void (*run)(void *);
    void *context;
};

// For those who look at the process from outside; a system may have no such names.
static void name_thread(void) {
#if defined(__APPLE__)
    (void)pthread_setname_np("lanner.curl");
#elif defined(__linux__)
    (void)prctl(PR_SET_NAME, "lanner.curl");
#endif
}

static void *run_call(void *pointer) {
    struct call call = *(struct call *)pointer;
    free(pointer);
    name_thread();
    call.run(call.context);
    return NULL;
}

// All signals but those that a thread raises by what it does itself, and that by which profilers look at it.
static sigset_t foreign_signals(void) {
    static const int own[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV, SIGSYS, SIGTRAP};
    sigset_t signals;
    sigfillset(&signals);
    for (size_t index = 0; index < sizeof(own) / sizeof(*own); index++) sigdelset(&signals, own[index]);
    return signals;
}

int lanner_curl_start_thread(void (*run)(void *), void *context) {
    struct call *call = malloc(sizeof(*call));
    if (!call) return ENOMEM;
    *call = (struct call){run, context};
    // A thread has the mask of the one that makes it.
    sigset_t signals = foreign_signals(), before;
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    pthread_t thread;
    int result = pthread_create(&thread, NULL, run_call, call);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result == 0) {
        pthread_detach(thread);
    } else {
        free(call);
    }
    return result;
}

// What a processor writes at once, past its caches, wherever in memory it is read from; and a line of the caches.
typedef uint64_t lane_t __attribute__((vector_size(16), may_alias));
typedef lane_t unaligned_lane_t __attribute__((aligned(1)));
enum { LINE = 64, LINE_LANES = LINE / sizeof(lane_t), SMALL_COPY = 4096 };

void lanner_curl_copy(void *to, const void *from, size_t count) {
    if (count < SMALL_COPY) {
        memcpy(to, from, count);
        return;
    }
    char *target = to;
    const char *source = from;
    size_t head = -(uintptr_t)target % LINE;
    memcpy(target, source, head);
    for (target += head, source += head, count -= head; count >= LINE; count -= LINE) {
        const unaligned_lane_t *lanes = (const unaligned_lane_t *)source;
        for (int lane = 0; lane < LINE_LANES; lane++) __builtin_nontemporal_store(lanes[lane], (lane_t *)target + lane);
        target += LINE;
        source += LINE;
    }
    // Other threads see these bytes no later than what is written next.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memcpy(target, source, count);
}

void lanner_curl_want_large_pages(void *memory, size_t size) {
#ifdef MADV_HUGEPAGE
    // A wish: without them it is only slower.
    (void)madvise(memory, size, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}
