#include "flow/sockopts.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptor.h"
#include "base/marking.h"

static bool set_window(int fd, int64_t window_bytes, struct pl_error *error)
{
    int bytes = (int)window_bytes;
    if (!pl_set_option(fd, SOL_SOCKET, SO_SNDBUF, bytes) || !pl_set_option(fd, SOL_SOCKET, SO_RCVBUF, bytes))
        return pl_error_set(error, PL_SETUP, "window", errno, "cannot set a window of %d bytes", bytes);
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

/* TCP options; flow.c refuses these flags for other transports. */
static bool set_tcp_options(int fd, const struct pl_flow *flow, struct pl_error *error)
{
    int mss = (int)flow->mss_bytes;
    if (flow->congestion[0] != 0 && !set_congestion(fd, flow->congestion, error))
        return false;
    if (mss > 0 && !pl_set_option(fd, IPPROTO_TCP, TCP_MAXSEG, mss))
        return pl_error_set(error, PL_SETUP, "mss", errno, "--mss-bytes %d was refused", mss);
    if (flow->no_delay && !pl_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1))
        return pl_error_set(error, PL_SETUP, "no-delay", errno, "--no-delay was refused");
    return true;
}

static bool set_socket(int fd, int family, const struct pl_flow *flow, const struct pl_marking *marking,
                       struct pl_error *error)
{
    return (flow->window_bytes == 0 || set_window(fd, flow->window_bytes, error)) &&
           pl_marking_apply(fd, family, marking, error);
}

bool pl_set_data_socket(int fd, int family, const struct pl_flow *flow, struct pl_error *error)
{
    return set_socket(fd, family, flow, &flow->marking, error);
}

int pl_open_stream_socket(int family, const struct pl_flow *flow, struct pl_error *error)
{
    struct pl_marking marking = flow->marking;
    if (flow->udp) /* the kernel sets the ECN bits of the streams that admit datagrams */
        marking.ecn = -1;
    int fd = pl_transport_socket(flow->transport, family, error);
    if (fd < 0)
        return -1;
    if ((!pl_transport_is_tcp(flow->transport) || set_tcp_options(fd, flow, error)) &&
        set_socket(fd, family, flow, &marking, error))
        return fd;
    (void)close(fd);
    return -1;
}

bool pl_pace_stream(int fd, int64_t rate_bits_per_s, struct pl_error *error)
{
    /* 0 would mean no limit. */
    uint64_t rate = rate_bits_per_s >= 8 ? (uint64_t)rate_bits_per_s / 8 : 1;
    if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate) == 0)
        return true;
    return pl_error_set(error, PL_SETUP, "pacing", errno, "the kernel does not pace here: use --pacing user");
}

void pl_hold_window(int fd, int64_t window_bytes)
{
    int window = (int)window_bytes;
    if (window > 0 && pl_get_option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP) != window)
        (void)pl_set_option(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, window);
}

/* -1 where no rate is set: the kernel then reports the largest number. */
static int64_t read_pacing(int fd)
{
    uint64_t rate = UINT64_MAX;
    socklen_t length = sizeof rate;
    if (getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &length) != 0 || length != sizeof rate)
        return -1;
    return rate > INT64_MAX ? -1 : (int64_t)rate;
}

void pl_read_socket_facts(int fd, struct pl_socket_facts *facts)
{
    *facts = (struct pl_socket_facts){.local_port = -1, .remote_port = -1, .traffic_class = -1};
    facts->sndbuf_bytes = pl_get_option(fd, SOL_SOCKET, SO_SNDBUF);
    facts->rcvbuf_bytes = pl_get_option(fd, SOL_SOCKET, SO_RCVBUF);
    facts->mss_bytes = pl_get_option(fd, IPPROTO_TCP, TCP_MAXSEG);
    facts->pacing_bytes_per_s = read_pacing(fd);
    socklen_t length = sizeof facts->congestion - 1;
    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, facts->congestion, &length) != 0)
        facts->congestion[0] = 0;
    struct pl_address address;
    if (pl_address_of_socket(fd, &address)) {
        facts->local_port = pl_address_port(&address);
        facts->traffic_class = pl_marking_octet(fd, pl_address_family(&address));
    }
    if (pl_address_of_peer(fd, &address))
        facts->remote_port = pl_address_port(&address);
}

void pl_write_window(struct pl_json *j, int64_t requested_bytes, int64_t sndbuf_bytes, int64_t rcvbuf_bytes)
{
    pl_json_begin_object(j, "window");
    pl_json_known_i64(j, "requested_bytes", requested_bytes > 0 ? requested_bytes : -1);
    pl_json_known_i64(j, "sndbuf_bytes", requested_bytes > 0 ? sndbuf_bytes : -1);
    pl_json_known_i64(j, "rcvbuf_bytes", requested_bytes > 0 ? rcvbuf_bytes : -1);
    pl_json_end_object(j);
}
