#include "datagrams/datagram_pacing.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/descriptor.h"
#include "datagrams/datagram_flow.h"
#include "datagrams/qdisc.h"
#include "flow/sockopts.h"

/* From <asm/socket.h>, which older systems lack. */
#ifndef SO_TXTIME
#define SO_TXTIME 61
#endif

/* The kernel paces by the bytes of a packet with the headers of Ethernet, IP and UDP. */
#define IPV4_OVERHEAD 42
#define IPV6_OVERHEAD 62

#define QUEUED_PACKETS 80
#define PACKET_EXTRA_BYTES 512
#define PACKET_MIN_BYTES 768

/* As struct sock_txtime, which older systems lack. */
struct txtime {
    int32_t clock;
    uint32_t flags;
};

static bool refuse(const struct pl_flow *flow, const struct pl_qdisc *qdisc, struct pl_error *error)
{
    const char *way = flow->pacing == PL_PACING_KERNEL ? "kernel" : "txtime";
    return pl_error_set(
        error, PL_SETUP, "pacing", 0,
        "--pacing %s: the queueing discipline '%s' of %s does not pace: use --pacing user, or `tc qdisc "
        "replace dev %s root fq`",
        way, qdisc->kind, qdisc->device, qdisc->device);
}

static bool set_txtime(int fd, bool by_etf, struct pl_error *error)
{
    const struct txtime wanted = {.clock = by_etf ? CLOCK_TAI : CLOCK_MONOTONIC};
    if (setsockopt(fd, SOL_SOCKET, SO_TXTIME, &wanted, sizeof wanted) == 0)
        return true;
    return pl_error_set(error, PL_SETUP, "pacing", errno, "--pacing txtime was refused: use --pacing user");
}

/* The discipline fq drops what exceeds 100 packets of a socket, without a word: the send buffer is the limit
 * that lets the sender wait. A packet takes its payload and about 512 bytes, at least 768, and the kernel
 * doubles the number. */
static void limit_send_buffer(int fd, const struct pl_datagram_settings *datagrams)
{
    const int64_t packet = datagrams->bytes * datagrams->segments + PACKET_EXTRA_BYTES;
    const int most = (int)(QUEUED_PACKETS / 2 * (packet > PACKET_MIN_BYTES ? packet : PACKET_MIN_BYTES));
    if (pl_get_option(fd, SOL_SOCKET, SO_SNDBUF) / 2 > most)
        (void)pl_set_option(fd, SOL_SOCKET, SO_SNDBUF, most);
}

bool pl_datagram_pace(int fd, const struct pl_flow *flow, struct pl_error *error)
{
    struct pl_qdisc qdisc;
    struct pl_address peer;
    if (!flow->transmits || (flow->pacing != PL_PACING_KERNEL && flow->pacing != PL_PACING_TXTIME))
        return true;
    if (!pl_qdisc_find(fd, &qdisc) || !pl_address_of_peer(fd, &peer))
        return pl_error_set(
            error, PL_SETUP, "pacing", 0,
            "the kernel does not name the queueing discipline of the path: use --pacing user");
    bool by_etf = strcmp(qdisc.kind, "etf") == 0;
    if (strcmp(qdisc.kind, "fq") != 0 && !(by_etf && flow->pacing == PL_PACING_TXTIME))
        return refuse(flow, &qdisc, error);
    if (flow->pacing == PL_PACING_TXTIME)
        return set_txtime(fd, by_etf, error);
    limit_send_buffer(fd, &flow->datagrams);
    int64_t bytes = flow->datagrams.bytes;
    int64_t overhead = pl_address_family(&peer) == AF_INET6 ? IPV6_OVERHEAD : IPV4_OVERHEAD;
    double rate = (double)pl_datagram_flow_rate(flow) / (double)flow->streams;
    return pl_pace_stream(fd, (int64_t)(rate * (double)(bytes + overhead) / (double)bytes), error);
}

pl_ns pl_datagram_txtime_offset_ns(int fd)
{
    struct txtime set = {.clock = CLOCK_MONOTONIC};
    socklen_t length = sizeof set;
    struct timespec now;
    if (getsockopt(fd, SOL_SOCKET, SO_TXTIME, &set, &length) != 0 || set.clock == CLOCK_MONOTONIC ||
        clock_gettime(set.clock, &now) != 0)
        return 0;
    return pl_timespec_ns(&now) - pl_now_ns();
}
