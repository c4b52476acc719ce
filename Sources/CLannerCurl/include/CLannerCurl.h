// What LannerCurl calls of libcurl, which is loaded at run time: nothing here needs its headers or links against it.
//
// Swift cannot call variadic functions, and the library's constants are macros and enumerators of headers that are not
// there; the numbers below are part of its documented binary interface and never change.

#ifndef CLANNERCURL_H
#define CLANNERCURL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma clang assume_nonnull begin

/// A transfer (`CURL`), the handle of many (`CURLM`), a list of header lines (`struct curl_slist`).
typedef struct lanner_curl_easy lanner_curl_easy;
typedef struct lanner_curl_multi lanner_curl_multi;
typedef struct lanner_curl_list lanner_curl_list;

/// What a transfer calls with bytes. The result is how many were taken, or `LANNER_CURL_HOLD`.
typedef size_t (*lanner_curl_receiver)(
    const char *_Nullable bytes, size_t size, size_t count, void *_Nullable context);

enum {
    /// Not now: the same bytes come again after `lanner_curl_go` (`CURL_WRITEFUNC_PAUSE`).
    LANNER_CURL_HOLD = 0x10000001,
    /// Enough room for any message (`CURL_ERROR_SIZE`).
    LANNER_CURL_MESSAGE_SIZE = 256,
};

/// Options of a transfer (`CURLoption`): a type (0 number, 10000 pointer or text, 20000 function) and a number.
enum lanner_curl_option {
    LANNER_CURL_LOW_SPEED_LIMIT = 19,
    LANNER_CURL_LOW_SPEED_TIME = 20,
    LANNER_CURL_NETRC = 51,
    LANNER_CURL_FOLLOW_LOCATION = 52,
    LANNER_CURL_FRESH_CONNECT = 74,
    LANNER_CURL_FORBID_REUSE = 75,
    LANNER_CURL_HTTP_GET = 80,
    LANNER_CURL_HTTP_VERSION = 84,
    LANNER_CURL_DNS_CACHE_TIME = 92,
    LANNER_CURL_BUFFER_SIZE = 98,
    LANNER_CURL_NO_SIGNAL = 99,
    LANNER_CURL_PROXY_AUTHENTICATION = 111,
    LANNER_CURL_CONNECT_TIMEOUT_MS = 156,
    LANNER_CURL_HTTP_CONTENT_DECODING = 158,
    LANNER_CURL_PROTOCOLS = 181,
    LANNER_CURL_PATH_AS_IS = 234,
    LANNER_CURL_SUPPRESS_CONNECT_HEADERS = 265,
    LANNER_CURL_DISALLOW_USERNAME_IN_URL = 278,
    LANNER_CURL_HTTP09_ALLOWED = 285,
    LANNER_CURL_LONGEST_IDLE = 288,
    LANNER_CURL_QUICK_EXIT = 322,
    LANNER_CURL_WRITE_CONTEXT = 10001,
    LANNER_CURL_URL = 10002,
    LANNER_CURL_PROXY = 10004,
    LANNER_CURL_ERROR_BUFFER = 10010,
    LANNER_CURL_HTTP_HEADER = 10023,
    LANNER_CURL_CLIENT_CERTIFICATE = 10025,
    LANNER_CURL_KEY_PASSWORD = 10026,
    LANNER_CURL_HEADER_CONTEXT = 10029,
    LANNER_CURL_CA_INFO = 10065,
    LANNER_CURL_CLIENT_KEY = 10087,
    LANNER_CURL_CA_DIRECTORY = 10097,
    LANNER_CURL_PROXY_USER_NAME = 10175,
    LANNER_CURL_PROXY_PASSWORD = 10176,
    LANNER_CURL_NO_PROXY = 10177,
    LANNER_CURL_PROXY_HEADER = 10228,
    LANNER_CURL_PINNED_PUBLIC_KEY = 10230,
    LANNER_CURL_PROXY_CA_INFO = 10246,
    LANNER_CURL_PROXY_CA_DIRECTORY = 10247,
    LANNER_CURL_PROTOCOLS_TEXT = 10318,
    LANNER_CURL_WRITE_FUNCTION = 20011,
    LANNER_CURL_HEADER_FUNCTION = 20079,
    LANNER_CURL_SOCKET_FUNCTION = 20148,
};

/// Options of the handle of many (`CURLMoption`).
enum lanner_curl_multi_option {
    LANNER_CURL_KEPT_CONNECTIONS = 6,
    LANNER_CURL_HOST_CONNECTIONS = 7,
    LANNER_CURL_TOTAL_CONNECTIONS = 13,
    /// From 8.20 on: as many names are looked up at once at most, by threads that may be stuck.
    LANNER_CURL_MOST_RESOLVERS = 20,
    /// From 8.20 on, where that of a transfer means nothing to a multi handle: its end does not wait for them.
    LANNER_CURL_MULTI_QUICK_EXIT = 21,
};

/// What can be asked of a transfer (`CURLINFO`): 0x200000, for a number, and which.
enum lanner_curl_info {
    LANNER_CURL_CONNECT_STATUS = 0x200000 + 22,
    LANNER_CURL_SYSTEM_ERROR = 0x200000 + 25,
    LANNER_CURL_NEW_CONNECTIONS = 0x200000 + 26,
    LANNER_CURL_LOCAL_PORT = 0x200000 + 42,
    LANNER_CURL_PROXY_ERROR = 0x200000 + 59,
};

/// How loading ended.
enum lanner_curl_loading {
    LANNER_CURL_LOADED,
    LANNER_CURL_NOT_FOUND,
    /// A function is missing: it is too old.
    LANNER_CURL_INCOMPLETE,
};

/// Loads the library from a file of this name, and sets it up, to the very end of the process. Not to be called by two
/// threads at once; nothing else may be called before it has succeeded. `version` becomes 0x00XXYYZZ, 0 where it is
/// unknown. `problem`, which has room for `room` bytes, becomes the loader's own words.
enum lanner_curl_loading lanner_curl_load(
    const char *name, unsigned int *version, char *problem, size_t room);

/// Whether the system knows a way to the internet, by IPv4 or IPv6; not whether anything answers. Sends nothing. May be
/// called without the library.
int lanner_curl_has_route(void);

/// The library's words for a result of a transfer (`CURLcode`), and for one of the handle of many (`CURLMcode`).
const char *lanner_curl_text(int result);
const char *lanner_curl_multi_text(int result);

// A transfer. Texts are copied. Results are `CURLcode`, 0 for success.

lanner_curl_easy *_Nullable lanner_curl_easy_make(void);
void lanner_curl_easy_free(lanner_curl_easy *easy);
/// As if it was made anew: knows nothing of what it was told, nor of how often a connection was tried again.
void lanner_curl_easy_reset(lanner_curl_easy *easy);
int lanner_curl_set_number(lanner_curl_easy *easy, enum lanner_curl_option option, long value);
int lanner_curl_set_text(lanner_curl_easy *easy, enum lanner_curl_option option, const char *_Nullable value);
int lanner_curl_set_pointer(lanner_curl_easy *easy, enum lanner_curl_option option, void *_Nullable value);
int lanner_curl_set_list(lanner_curl_easy *easy, enum lanner_curl_option option, lanner_curl_list *_Nullable value);
int lanner_curl_set_receiver(lanner_curl_easy *easy, enum lanner_curl_option option, lanner_curl_receiver value);
/// Has the sockets of a transfer closed in programs that the process starts.
int lanner_curl_close_in_children(lanner_curl_easy *easy);
/// 0 where it is not known.
long lanner_curl_number(lanner_curl_easy *easy, enum lanner_curl_info info);
/// Lets a held transfer go on; it may call its receiver at once.
void lanner_curl_go(lanner_curl_easy *easy);
/// Offers the bytes again that were not taken, and sends nothing until the transfer may go on.
void lanner_curl_offer(lanner_curl_easy *easy);

/// The list with a line at its end, which is copied; null, and the list as it was, when there is no memory.
lanner_curl_list *_Nullable lanner_curl_list_append(lanner_curl_list *_Nullable list, const char *line);
void lanner_curl_list_free(lanner_curl_list *_Nullable list);

// Many transfers, all on one thread but for the call that wakes it. Results are `CURLMcode`, 0 for success.

lanner_curl_multi *_Nullable lanner_curl_multi_make(void);
void lanner_curl_multi_free(lanner_curl_multi *multi);
int lanner_curl_multi_set_number(lanner_curl_multi *multi, enum lanner_curl_multi_option option, long value);
int lanner_curl_multi_add(lanner_curl_multi *multi, lanner_curl_easy *easy);
int lanner_curl_multi_remove(lanner_curl_multi *multi, lanner_curl_easy *easy);
/// Does what can be done without waiting.
int lanner_curl_multi_perform(lanner_curl_multi *multi);
/// Waits until there is something to do, somebody calls `lanner_curl_multi_wake`, or the time is up.
int lanner_curl_multi_wait(lanner_curl_multi *multi, int milliseconds);
int lanner_curl_multi_wake(lanner_curl_multi *multi);
/// The next transfer that is over, and its result; null when there is none.
lanner_curl_easy *_Nullable lanner_curl_multi_next_done(lanner_curl_multi *multi, int *result);

/// Calls a function on a new thread, which takes no signal that is sent to the process. 0, or why there is none (`errno`).
int lanner_curl_start_thread(void (*run)(void *context), void *context);

/// As `memcpy`, but what is not small goes past the processor's caches: for bytes that are next read by a device, or by
/// somebody else when the caches have long lost them.
void lanner_curl_copy(void *to, const void *from, size_t count);
/// Asks for pages as large as there are, where the system has several sizes.
void lanner_curl_want_large_pages(void *memory, size_t size);

#pragma clang assume_nonnull end

#ifdef __cplusplus
}
#endif

#endif
