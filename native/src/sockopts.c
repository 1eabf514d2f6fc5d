#include "sockopts.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"

static bool set_window(int fd, int64_t window_bytes, struct pl_error *error)
{
    int bytes = (int)window_bytes;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes) != 0) {
        pl_error_set(error, PL_SETUP, "window", errno, "cannot set a window of %d bytes", bytes);
        return false;
    }
    return true;
}

/* The first line of a /proc file, empty when it cannot be read. */
static void read_line(const char *path, char *line, size_t size)
{
    line[0] = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t count = read(fd, line, size - 1);
    (void)close(fd);
    line[count > 0 ? count : 0] = 0;
    line[strcspn(line, "\n")] = 0;
}

static bool set_congestion(int fd, const char *name, struct pl_error *error)
{
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0)
        return true;
    int cause = errno;
    char listed[96];
    if (cause == EPERM) {
        read_line("/proc/sys/net/ipv4/tcp_allowed_congestion_control", listed, sizeof listed);
        pl_error_set(error, PL_SETUP, "congestion", cause,
                     "--congestion %.15s is not allowed here (tcp_allowed_congestion_control: %s)", name,
                     listed);
    } else if (cause == ENOENT) {
        read_line("/proc/sys/net/ipv4/tcp_available_congestion_control", listed, sizeof listed);
        pl_error_set(error, PL_SETUP, "congestion", 0,
                     "--congestion %.15s is unknown to this kernel (tcp_available_congestion_control: %s)",
                     name, listed);
    } else {
        pl_error_set(error, PL_SETUP, "congestion", cause, "--congestion %.15s was refused", name);
    }
    return false;
}

int pl_open_stream_socket(int family, int64_t window_bytes, const char *congestion, struct pl_error *error)
{
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0) {
        bool full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        pl_error_set(error, full ? PL_RESOURCES : PL_SETUP, "socket", errno, "cannot open a TCP socket");
        return -1;
    }
    bool set = (window_bytes == 0 || set_window(fd, window_bytes, error)) &&
               (congestion[0] == 0 || set_congestion(fd, congestion, error));
    if (set)
        return fd;
    (void)close(fd);
    return -1;
}

static int64_t read_integer(int fd, int level, int option)
{
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(fd, level, option, &value, &length) == 0 ? value : -1;
}

void pl_hold_window(int fd, int64_t window_bytes)
{
    int window = (int)window_bytes;
    if (window > 0 && read_integer(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP) != window)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, &window, sizeof window);
}

void pl_read_socket_facts(int fd, struct pl_socket_facts *facts)
{
    *facts = (struct pl_socket_facts){.local_port = -1, .remote_port = -1};
    facts->sndbuf_bytes = read_integer(fd, SOL_SOCKET, SO_SNDBUF);
    facts->rcvbuf_bytes = read_integer(fd, SOL_SOCKET, SO_RCVBUF);
    facts->mss_bytes = read_integer(fd, IPPROTO_TCP, TCP_MAXSEG);
    socklen_t length = sizeof facts->congestion - 1;
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, facts->congestion, &length) != 0)
        facts->congestion[0] = 0;
    struct pl_address address;
    if (pl_address_of_socket(fd, &address))
        facts->local_port = pl_address_port(&address);
    if (pl_address_of_peer(fd, &address))
        facts->remote_port = pl_address_port(&address);
}

void pl_write_known(struct pl_json *j, const char *key, int64_t value)
{
    if (value >= 0)
        pl_json_i64(j, key, value);
    else
        pl_json_null(j, key);
}

void pl_write_window(struct pl_json *j, int64_t asked_bytes, int64_t sndbuf_bytes, int64_t rcvbuf_bytes)
{
    pl_json_begin_object(j, "window");
    pl_write_known(j, "asked_bytes", asked_bytes > 0 ? asked_bytes : -1);
    pl_write_known(j, "sndbuf_bytes", asked_bytes > 0 ? sndbuf_bytes : -1);
    pl_write_known(j, "rcvbuf_bytes", asked_bytes > 0 ? rcvbuf_bytes : -1);
    pl_json_end_object(j);
}

bool pl_raise_descriptor_limit(uint64_t needed, struct pl_error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed) {
        pl_error_set(
            error, PL_RESOURCES, "descriptors", 0,
            "%llu descriptors are needed and %llu are allowed: raise `ulimit -n` or ask for fewer streams",
            (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
        return false;
    }
    return true;
}
