/* Failing system calls for tests, linked into a separate engine by --wrap (see the Makefile).
 *
 * $PATHLAB_FAULTS is a list of CALL:FAULT@NTH, separated by commas: the NTH use of CALL (from 1, over all
 * threads) fails with FAULT. NTH may be followed by xK (K uses), + (every use from there on) or /STEP (that
 * use and every STEP-th after it). FAULT is the name of an errno, or `short`: at most half of the requested

 * bytes are transferred, or of sendmmsg and recvmmsg half of the messages. An invalid list ends the program
 with status 2 and one line.
 *
 * $PATHLAB_FAULTS_APPLIED names a file to which each entry of the list is appended when it first applies. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_FAULTS 32
#define SHORT (-1)

/* The same calls as FAULTED_CALLS in the Makefile. */
#define CALLS(X)                                                                                             \
    X(send)                                                                                                  \
    X(recv)                                                                                                  \
    X(splice)                                                                                                \
    X(tee)                                                                                                   \
    X(accept4)                                                                                               \
    X(connect)                                                                                               \
    X(epoll_wait)                                                                                            \
    X(epoll_ctl)                                                                                             \
    X(setsockopt)                                                                                            \
    X(getsockopt)                                                                                            \
    X(socket)                                                                                                \
    X(bind)                                                                                                  \
    X(listen)                                                                                                \
    X(shutdown)                                                                                              \
    X(write)                                                                                                 \
    X(read)                                                                                                  \
    X(calloc)                                                                                                \
    X(malloc)                                                                                                \
    X(eventfd)                                                                                               \
    X(pipe2)                                                                                                 \
    X(pthread_create)                                                                                        \
    X(memfd_create)                                                                                          \
    X(fallocate)                                                                                             \
    X(mmap)                                                                                                  \
    X(socketpair)                                                                                            \
    X(sendmsg)                                                                                               \
    X(recvmsg)                                                                                               \
    X(aligned_alloc)                                                                                         \
    X(pwrite)                                                                                                \
    X(pread)                                                                                                 \
    X(fdatasync)                                                                                             \
    X(sendmmsg)                                                                                              \
    X(recvmmsg)

#define ENUMERATE(name) CALL_##name,
#define QUOTE(name) #name,

enum call { CALLS(ENUMERATE) CALL_COUNT };

static const char *const call_names[] = {CALLS(QUOTE)};

static const struct {
    const char *name;
    int value;
} whats[] = {
    {"short", SHORT},
    {"EINTR", EINTR},
    {"EAGAIN", EAGAIN},
    {"ENOBUFS", ENOBUFS},
    {"EMFILE", EMFILE},
    {"ENFILE", ENFILE},
    {"ENOMEM", ENOMEM},
    {"ECONNRESET", ECONNRESET},
    {"EPIPE", EPIPE},
    {"ETIMEDOUT", ETIMEDOUT},
    {"EINVAL", EINVAL},
    {"EPERM", EPERM},
    {"ENOSPC", ENOSPC},
    {"EIO", EIO},
    {"ECONNREFUSED", ECONNREFUSED},
    {"EMSGSIZE", EMSGSIZE},
};

/* Applies to the uses first, first + step, first + 2 step, … , last. */
struct fault {
    enum call call;
    int what;
    uint64_t first;
    uint64_t step;
    uint64_t last;
    const char *text;
    int text_bytes;
    atomic_bool applied;
};

static struct fault faults[MOST_FAULTS];
static size_t fault_count;
static atomic_uint_fast64_t uses[CALL_COUNT];
static const char *applied_path;

_Noreturn static void refuse(const char *item, int bytes, const char *reason)
{
    (void)dprintf(STDERR_FILENO, "PATHLAB_FAULTS: '%.*s': %s; write CALL:WHAT@NTH, then xK, + or /STEP\n",
                  bytes, item, reason);
    _exit(2);
}

static bool read_count(const char **at, uint64_t *count)
{
    if (**at < '1' || **at > '9')
        return false;
    char *end = NULL;
    errno = 0;
    *count = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0;
}

/* -1 where the call is not wrapped. */
static int find_call(const char *at, size_t bytes)
{
    for (int i = 0; i < CALL_COUNT; i++)
        if (strlen(call_names[i]) == bytes && memcmp(call_names[i], at, bytes) == 0)
            return i;
    return -1;
}

/* SHORT or an errno; 0 where the name is not known. */
static int find_what(const char *at, size_t bytes)
{
    for (size_t i = 0; i < sizeof whats / sizeof whats[0]; i++)
        if (strlen(whats[i].name) == bytes && memcmp(whats[i].name, at, bytes) == 0)
            return whats[i].value;
    return 0;
}

static bool transfers(enum call call)
{
    return call == CALL_send || call == CALL_recv || call == CALL_splice || call == CALL_write ||
           call == CALL_read || call == CALL_pwrite || call == CALL_sendmmsg || call == CALL_recvmmsg;
}

/* The ending of an entry: nothing, xK, + or /STEP. */
static bool read_repetition(const char *at, const char *end, struct fault *fault)
{
    uint64_t times;
    fault->step = 1;
    fault->last = fault->first;
    if (at == end)
        return true;
    char sign = *at++;
    fault->last = UINT64_MAX;
    if (sign == '+')
        return at == end;
    if (sign == '/')
        return read_count(&at, &fault->step) && at == end;
    if (sign != 'x' || !read_count(&at, &times) || at != end || times > UINT64_MAX - fault->first)
        return false;
    fault->last = fault->first + times - 1;
    return true;
}

static void read_fault(const char *item, int bytes)
{
    const char *end = item + bytes;
    const char *colon = memchr(item, ':', (size_t)bytes);
    const char *at = colon != NULL ? memchr(colon, '@', (size_t)(end - colon)) : NULL;
    if (at == NULL)
        refuse(item, bytes, "not of that form");
    if (fault_count == MOST_FAULTS)
        refuse(item, bytes, "one entry too many");
    int call = find_call(item, (size_t)(colon - item));
    int what = find_what(colon + 1, (size_t)(at - colon - 1));
    if (call < 0)
        refuse(item, bytes, "this call is not wrapped");
    if (what == 0 || (what == SHORT && !transfers((enum call)call)))
        refuse(item, bytes, "this cannot happen to the call");
    struct fault *fault = &faults[fault_count++];
    fault->call = (enum call)call;
    fault->what = what;
    fault->text = item;
    fault->text_bytes = bytes;
    at++;
    if (!read_count(&at, &fault->first) || !read_repetition(at, end, fault))
        refuse(item, bytes, "its count cannot be read");
}

__attribute__((constructor)) static void read_faults(void)
{
    const char *list = getenv("PATHLAB_FAULTS");
    applied_path = getenv("PATHLAB_FAULTS_APPLIED");
    if (list == NULL)
        return;
    while (*list != 0) {
        int bytes = (int)strcspn(list, ",");
        read_fault(list, bytes);
        list += bytes;
        if (*list == ',' && *++list == 0)
            refuse(",", 1, "nothing follows the last comma");
    }
}

static void note_strike(struct fault *fault)
{
    if (applied_path == NULL || atomic_exchange(&fault->applied, true))
        return;
    int fd = open(applied_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || dprintf(fd, "%.*s\n", fault->text_bytes, fault->text) < 0)
        refuse(applied_path, (int)strlen(applied_path), "cannot be written");
    (void)close(fd);
}

/* Counts one use of the call; returns 0, SHORT or the errno to apply. */
static int meet(enum call call)
{
    uint64_t use = atomic_fetch_add(&uses[call], 1) + 1;
    for (size_t i = 0; i < fault_count; i++) {
        struct fault *fault = &faults[i];
        if (fault->call != call || use < fault->first || use > fault->last ||
            (use - fault->first) % fault->step != 0)
            continue;
        int kept_errno = errno;
        note_strike(fault);
        errno = kept_errno;
        return fault->what;
    }
    return 0;
}

/* True with errno set: the call fails. */
static bool fails(enum call call)
{
    int met = meet(call);
    if (met > 0)
        errno = met;
    return met > 0;
}

/* As fails(), for calls that may also transfer less: shortens `bytes`. */
static bool fails_or_cuts(enum call call, size_t *bytes)
{
    int met = meet(call);
    if (met == SHORT && *bytes > 1)
        *bytes /= 2;
    if (met > 0)
        errno = met;
    return met > 0;
}

/* An eventfd, timerfd or signalfd: no file type. The kernel reads and writes these completely, and never
 * refuses a wake-up for lack of memory. */
static bool is_event_source(int fd)
{
    struct stat facts;
    return fstat(fd, &facts) == 0 && (facts.st_mode & S_IFMT) == 0;
}

#define WRAP(type, name, parameters, arguments, failure)                                                     \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return fails(CALL_##name) ? (failure) : __real_##name arguments;                                     \
    }

#define WRAP_TRANSFER(name, parameters, arguments, exempt)                                                   \
    ssize_t __real_##name parameters;                                                                        \
    ssize_t __wrap_##name parameters;                                                                        \
    ssize_t __wrap_##name parameters                                                                         \
    {                                                                                                        \
        return !(exempt) && fails_or_cuts(CALL_##name, &bytes) ? -1 : __real_##name arguments;               \
    }

WRAP_TRANSFER(send, (int fd, const void *data, size_t bytes, int flags), (fd, data, bytes, flags), false)
WRAP_TRANSFER(recv, (int fd, void *data, size_t bytes, int flags), (fd, data, bytes, flags), false)
WRAP_TRANSFER(write, (int fd, const void *data, size_t bytes), (fd, data, bytes), is_event_source(fd))
WRAP_TRANSFER(read, (int fd, void *data, size_t bytes), (fd, data, bytes), is_event_source(fd))
WRAP_TRANSFER(splice, (int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned flags),
              (from, from_at, to, to_at, bytes, flags), false)

WRAP_TRANSFER(pwrite, (int fd, const void *data, size_t bytes, off_t at), (fd, data, bytes, at), false)
WRAP(ssize_t, pread, (int fd, void *data, size_t bytes, off_t at), (fd, data, bytes, at), -1)
WRAP(int, fdatasync, (int fd), (fd), -1)

WRAP(ssize_t, tee, (int from, int to, size_t bytes, unsigned flags), (from, to, bytes, flags), -1)
WRAP(int, accept4, (int fd, struct sockaddr *address, socklen_t *length, int flags),
     (fd, address, length, flags), -1)
WRAP(int, connect, (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length), -1)
WRAP(int, bind, (int fd, const struct sockaddr *address, socklen_t length), (fd, address, length), -1)
WRAP(int, listen, (int fd, int backlog), (fd, backlog), -1)
WRAP(int, socket, (int family, int type, int protocol), (family, type, protocol), -1)
WRAP(int, shutdown, (int fd, int how), (fd, how), -1)
WRAP(int, epoll_wait, (int fd, struct epoll_event *events, int most, int timeout_ms),
     (fd, events, most, timeout_ms), -1)
WRAP(int, epoll_ctl, (int fd, int operation, int of, struct epoll_event *event), (fd, operation, of, event),
     -1)
WRAP(int, setsockopt, (int fd, int level, int option, const void *value, socklen_t length),
     (fd, level, option, value, length), -1)
WRAP(int, getsockopt, (int fd, int level, int option, void *value, socklen_t *length),
     (fd, level, option, value, length), -1)
WRAP(int, eventfd, (unsigned count, int flags), (count, flags), -1)
WRAP(int, pipe2, (int ends[2], int flags), (ends, flags), -1)
WRAP(void *, calloc, (size_t count, size_t bytes), (count, bytes), NULL)
WRAP(void *, malloc, (size_t bytes), (bytes), NULL)
/* This one returns its errno. */
WRAP(int, pthread_create, (pthread_t * thread, const pthread_attr_t *with, void *(*run)(void *), void *of),
     (thread, with, run, of), errno)

WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
WRAP(int, fallocate, (int fd, int mode, off_t at, off_t bytes), (fd, mode, at, bytes), -1)
WRAP(void *, mmap, (void *at, size_t bytes, int access, int flags, int fd, off_t offset),
     (at, bytes, access, flags, fd, offset), MAP_FAILED)
WRAP(int, socketpair, (int family, int type, int protocol, int ends[2]), (family, type, protocol, ends), -1)
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags), -1)
WRAP(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags), -1)
WRAP(void *, aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), NULL)

int __real_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
int __wrap_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
    size_t most = count;
    return fails_or_cuts(CALL_sendmmsg, &most) ? -1 : __real_sendmmsg(fd, messages, (unsigned)most, flags);
}

int __real_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout);
int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout);
int __wrap_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout)
{
    size_t most = count;
    return fails_or_cuts(CALL_recvmmsg, &most)
               ? -1
               : __real_recvmmsg(fd, messages, (unsigned)most, flags, timeout);
}
