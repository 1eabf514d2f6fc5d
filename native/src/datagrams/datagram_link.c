#include "datagrams/datagram_link.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/relaxed.h"
#include "datagrams/datagram_pacing.h"
#include "flow/flow.h"
#include "flow/sockopts.h"
#include "flow/stream.h"
#include "messages/udp_pair.h"

/* From <linux/udp.h>, which older systems lack. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* Entries of the error queue read in one turn. */
#define ERRORS_OF_TURN 64
/* For the peer to make its part of the sockets of all streams: at least, and more for each. */
#define SETUP_TIMEOUT_NS (5 * PL_NS_PER_S)
#define SETUP_STREAM_NS (5 * PL_NS_PER_MS)

/* Datagrams are never fragmented: the size under test would not be the one on the wire. */
static bool forbid_fragments(int fd, bool v6)
{
    /* IPV6_PMTUDISC_DO has the same value. */
    return pl_set_option(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
                         IP_PMTUDISC_DO);
}

/* UDP has no autotuning, and its default room is that of a few milliseconds: the kernel cuts this request
 * down to net.core.rmem_max. */
static void widen_receive_buffer(int fd)
{
    (void)pl_set_option(fd, SOL_SOCKET, SO_RCVBUF, INT32_MAX / 2);
}

/* Lets the kernel say of each datagram that its queues drop it (ENOBUFS), and that ICMP has reported it. */
static bool report_errors(int fd, bool v6)
{
    return pl_set_option(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR, 1);
}

static bool set_socket(int fd, int family, const void *context, struct pl_error *error)
{
    const struct pl_flow *flow = context;
    const struct pl_datagram_settings *datagrams = &flow->datagrams;
    bool v6 = family == AF_INET6;
    const char *failed = NULL;
    if (!pl_set_data_socket(fd, family, flow, error))
        return false;
    if (flow->receives && flow->window_bytes == 0)
        widen_receive_buffer(fd);
    if (!forbid_fragments(fd, v6))
        failed = "this kernel cannot forbid fragments of datagrams";
    else if (flow->transmits && !report_errors(fd, v6))
        failed = "this kernel does not report the errors of datagrams";
    else if (flow->transmits && datagrams->segments > 1 &&
             !pl_set_option(fd, IPPROTO_UDP, UDP_SEGMENT, (int)datagrams->bytes))
        failed = "--gso: this kernel has no UDP_SEGMENT (Linux 4.18)";
    else if (flow->receives && datagrams->gro && !pl_set_option(fd, IPPROTO_UDP, UDP_GRO, 1))
        failed = "--gro: this kernel has no UDP_GRO (Linux 5.0)";
    else if (flow->receives && datagrams->counts_ecn &&
             !pl_set_option(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVTCLASS : IP_RECVTOS, 1))
        failed = "--ecn: this kernel does not report the marks of received datagrams";
    if (failed != NULL)
        pl_error_set(error, PL_SETUP, "socket", errno, "%s", failed);
    return failed == NULL;
}

static bool create_meter(const struct pl_datagram_links *links, uint32_t stream, struct pl_error *error)
{
    struct pl_datagram_link *link = &links->links[stream];
    link->reordering = &links->reorderings[stream % links->workers];
    const struct pl_meter_settings settings = {.reordering = link->reordering};
    link->meter = pl_sequence_meter_create(&settings, error);
    return link->meter != NULL;
}

static struct pl_datagram_links *create(const struct pl_flow *flow, struct pl_error *error)
{
    struct pl_datagram_links *links = calloc(1, sizeof *links);
    uint32_t count = (uint32_t)flow->streams;
    if (links != NULL) {
        links->links = aligned_alloc(alignof(struct pl_datagram_link), count * sizeof *links->links);
        links->workers = (uint32_t)flow->workers;
    }
    if (links != NULL && flow->receives)
        links->reorderings = calloc(links->workers, sizeof *links->reorderings);
    if (links == NULL || links->links == NULL || (flow->receives && links->reorderings == NULL)) {
        pl_error_set(error, PL_RESOURCES, "streams", ENOMEM, "no memory for the datagrams of %u streams",
                     count);
        pl_datagram_links_free(links);
        return NULL;
    }
    memset(links->links, 0, count * sizeof *links->links);
    for (; links->count < count; links->count++) {
        uint32_t i = links->count;
        struct pl_datagram_link *link = &links->links[i];
        link->fd = -1;
        link->check_out = pl_datagram_check(flow->token, i, !flow->accepting);
        link->check_in = pl_datagram_check(flow->token, i, flow->accepting);
        atomic_init(&link->all.jitter_ns, -1);
        atomic_init(&link->steady.jitter_ns, -1);
        if (flow->receives && !create_meter(links, i, error)) {
            pl_datagram_links_free(links);
            return NULL;
        }
    }
    return links;
}

/* Both ends serve all streams in one turn, so that the set-up takes one round trip. */
static bool connect_all(const struct pl_flow *flow, struct pl_datagram_link *links,
                        const struct pl_stream *streams, struct pl_error *error)
{
    pl_ns deadline_ns = pl_now_ns() + SETUP_TIMEOUT_NS + flow->streams * SETUP_STREAM_NS;
    const struct pl_udp_settings settings = {
        .accepting = flow->accepting, .deadline_ns = deadline_ns, .set_socket = set_socket, .context = flow};
    for (uint32_t i = 0; i < (uint32_t)flow->streams; i++) {
        links[i].fd = pl_udp_open(streams[i].fd, &settings, error);
        if (links[i].fd < 0 || (!flow->accepting && !pl_udp_state_port(streams[i].fd, links[i].fd, error)))
            return false;
        /* At once: until it is connected, it would take the first datagrams of the others. */
        if (flow->accepting && (!pl_udp_connect(streams[i].fd, links[i].fd, &settings, error) ||
                                !pl_udp_state_port(streams[i].fd, links[i].fd, error)))
            return false;
    }
    for (uint32_t i = 0; !flow->accepting && i < (uint32_t)flow->streams; i++)
        if (!pl_udp_connect(streams[i].fd, links[i].fd, &settings, error))
            return false;
    for (uint32_t i = 0; i < (uint32_t)flow->streams; i++)
        if (!pl_datagram_pace(links[i].fd, flow, error))
            return false;
    return true;
}

struct pl_datagram_links *pl_datagram_links_open(const struct pl_flow *flow, struct pl_stream *streams,
                                                 struct pl_error *error)
{
    struct pl_datagram_links *links = create(flow, error);
    if (links == NULL)
        return NULL;
    if (!connect_all(flow, links->links, streams, error)) {
        pl_datagram_links_free(links);
        return NULL;
    }
    for (uint32_t i = 0; i < links->count; i++)
        streams[i].link = &links->links[i];
    return links;
}

void pl_datagram_links_free(struct pl_datagram_links *links)
{
    if (links == NULL)
        return;
    for (uint32_t i = 0; i < links->count; i++) {
        pl_close(links->links[i].fd);
        pl_sequence_meter_free(links->links[i].meter);
    }
    free(links->links);
    free(links->reorderings);
    free(links);
}

/* Whether an entry of the error queue is ICMP's: IP_RECVERR or IPV6_RECVERR with a struct sock_extended_err.
 */
static bool is_of_icmp(struct msghdr *message)
{
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL; head = CMSG_NXTHDR(message, head)) {
        struct sock_extended_err cause;
        bool queued = (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_RECVERR) ||
                      (head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_RECVERR);
        if (!queued || head->cmsg_len < CMSG_LEN(sizeof cause))
            continue;
        memcpy(&cause, CMSG_DATA(head), sizeof cause);
        return cause.ee_origin == SO_EE_ORIGIN_ICMP || cause.ee_origin == SO_EE_ORIGIN_ICMP6;
    }
    return false;
}

uint32_t pl_datagram_link_take_errors(const struct pl_datagram_link *link)
{
    uint32_t found = 0;
    for (int i = 0; i < ERRORS_OF_TURN; i++) {
        alignas(struct cmsghdr) uint8_t control[256];
        struct msghdr message = {.msg_control = control, .msg_controllen = sizeof control};
        if (recvmsg(link->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
            break;
        found += is_of_icmp(&message) ? 1 : 0;
    }
    return found;
}

uint64_t pl_datagram_link_sent(const struct pl_datagram_link *link)
{
    uint64_t sum = 0;
    for (int p = 0; link != NULL && p < PL_DATAGRAM_PHASES; p++)
        sum += pl_load_relaxed(&link->sent[p]);
    return sum;
}

static void publish(struct pl_datagram_counts *counts, const struct pl_sequence_counts *found)
{
    pl_store_relaxed(&counts->received, found->received);
    pl_store_relaxed(&counts->lost, found->lost);
    pl_store_relaxed(&counts->duplicates, found->duplicates);
    pl_store_relaxed(&counts->reordered, found->reordered);
    pl_store_relaxed(&counts->unclassified, found->unclassified);
    pl_store_relaxed(&counts->jitter_ns, found->jitter_ns);
}

void pl_datagram_link_publish(struct pl_datagram_link *link)
{
    const struct pl_sequence_counts all = pl_sequence_meter_totals(link->meter);
    const struct pl_sequence_counts steady = pl_sequence_meter_counts(link->meter);
    publish(&link->all, &all);
    publish(&link->steady, &steady);
}

void pl_datagram_link_close_window(struct pl_datagram_link *link)
{
    const struct pl_sequence_counts all = pl_sequence_meter_totals(link->meter);
    uint64_t first = link->end.sent[PL_DATAGRAM_WARMUP];
    uint64_t count = link->end.sent[PL_DATAGRAM_STEADY];
    const struct pl_sequence_counts steady =
        pl_sequence_meter_close_window(link->meter, first, first + count - 1);
    publish(&link->all, &all);
    publish(&link->steady, &steady);
}

bool pl_datagram_link_is_complete(const struct pl_datagram_link *link)
{
    const uint64_t *sent = link->end.sent;
    return pl_load_relaxed(&link->all.received) >= sent[PL_DATAGRAM_WARMUP] + sent[PL_DATAGRAM_STEADY];
}
