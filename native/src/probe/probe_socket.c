#include "probe/probe_socket.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "probe/echo_wire.h"
#include "probe/icmp.h"
#include "probe/probe_stream.h"

#define READS_PER_TURN 256
#define RECEIVE_ROOM_BYTES (8 << 20)
/* The payload of an ICMP probe, which any kernel answers: cookie, sequence. */
#define ICMP_COOKIE_AT 0
#define ICMP_SEQUENCE_AT 8
#define ICMP_PAYLOAD_MIN 16
/* From linux/icmp.h, whose definitions clash with those of some C libraries. */
#ifndef ICMP_FILTER
#define ICMP_FILTER 1
#endif

static const char *const method_names[PL_METHODS] = {"icmp-datagram", "icmp-raw", "udp", "tcp"};

const char *pl_method_name(enum pl_method method)
{
    return method_names[method];
}

bool pl_method_is_echoed(enum pl_method method)
{
    return method == PL_PROBE_UDP || method == PL_PROBE_TCP;
}

size_t pl_method_payload_min(enum pl_method method)
{
    return pl_method_is_echoed(method) ? PL_PROBE_HEAD_BYTES : ICMP_PAYLOAD_MIN;
}

static int open_socket(const struct pl_probe_socket *probing)
{
    const int kinds[PL_METHODS] = {SOCK_DGRAM, SOCK_RAW, SOCK_DGRAM, SOCK_STREAM};
    int icmp = probing->v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
    const int protocols[PL_METHODS] = {icmp, icmp, IPPROTO_UDP, IPPROTO_TCP};
    return socket(probing->v6 ? AF_INET6 : AF_INET, kinds[probing->method] | SOCK_NONBLOCK | SOCK_CLOEXEC,
                  protocols[probing->method]);
}

/* A raw socket receives every ICMP message of the host; the filter passes echo replies only. */
static void filter_replies(const struct pl_probe_socket *probing)
{
    if (probing->v6) {
        struct icmp6_filter filter;
        ICMP6_FILTER_SETBLOCKALL(&filter);
        ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
        (void)setsockopt(probing->fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter);
    } else {
        const uint32_t filter = ~(UINT32_C(1) << ICMP_ECHOREPLY); /* struct icmp_filter */
        (void)setsockopt(probing->fd, SOL_RAW, ICMP_FILTER, &filter, sizeof filter);
    }
}

static bool request_timestamps(const struct pl_probe_socket *probing)
{
    /* A TCP socket's transmit timestamps are keyed by bytes, and a retransmission adds further ones. */
    const int transmit = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
    const int flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
                      (probing->method == PL_PROBE_TCP ? 0 : transmit);
    return pl_set_option(probing->fd, SOL_SOCKET, SO_TIMESTAMPING, flags);
}

static bool prepare_message(struct pl_probe_socket *probing, const struct pl_probe_settings *settings)
{
    probing->payload_bytes = settings->payload_bytes;
    probing->incoming_bytes = PL_ICMP_HEADER_BYTES + settings->payload_bytes + 128;
    probing->message = calloc(1, PL_ICMP_HEADER_BYTES + settings->payload_bytes);
    probing->incoming = malloc(probing->incoming_bytes);
    if (probing->message == NULL || probing->incoming == NULL)
        return false;
    if (getrandom(&probing->cookie, sizeof probing->cookie, 0) != (ssize_t)sizeof probing->cookie ||
        getrandom(&probing->identifier, sizeof probing->identifier, 0) != (ssize_t)sizeof probing->identifier)
        return false;
    memcpy(probing->token, settings->token, sizeof probing->token);
    return true;
}

bool pl_probe_socket_open(struct pl_probe_socket *probing, enum pl_method method,
                          const struct pl_probe_settings *settings, struct pl_error *error)
{
    *probing = (struct pl_probe_socket){.method = method, .v6 = pl_address_family(&settings->to) == AF_INET6};
    const char *name = pl_method_name(method);
    probing->fd = open_socket(probing);
    if (probing->fd < 0)
        return pl_error_set(error, PL_SETUP, "socket", errno, "%s probes are not possible here", name);
    if (!prepare_message(probing, settings))
        return pl_error_set(error, PL_RESOURCES, "socket", errno, "no resources for %s probes", name);
    if (method == PL_ICMP_RAW)
        filter_replies(probing);
    probing->stamped = request_timestamps(probing);
    probing->keyed = probing->stamped && method != PL_PROBE_TCP;
    if (!pl_marking_apply(probing->fd, pl_address_family(&settings->to), &settings->marking, error))
        return false;
    /* Room for the answers of a second without a core; the kernel may grant less. */
    if (!pl_set_option(probing->fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_ROOM_BYTES))
        (void)pl_set_option(probing->fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_ROOM_BYTES);
    if (settings->from.length != 0 && pl_address_bind(probing->fd, &settings->from) != 0) {
        int cause = errno;
        char text[PL_ADDRESS_TEXT_BYTES];
        pl_address_text(&settings->from, text);
        return pl_error_set(error, PL_SETUP, "bind", cause, "cannot probe from --bind %s", text);
    }
    if (method == PL_PROBE_TCP)
        return pl_probe_stream_connect(probing->fd, settings, error);
    if (pl_address_connect(probing->fd, &settings->to) != 0) {
        int cause = errno;
        char text[PL_ADDRESS_TEXT_BYTES];
        pl_address_text(&settings->to, text);
        return pl_error_set(error, PL_SETUP, "connect", cause, "cannot reach %s", text);
    }
    return true;
}

void pl_probe_socket_close(struct pl_probe_socket *probing)
{
    pl_close(probing->fd);
    free(probing->message);
    free(probing->incoming);
    *probing = (struct pl_probe_socket){.fd = -1};
}

enum pl_stamps pl_probe_socket_stamps(const struct pl_probe_socket *probing)
{
    if (probing->keyed)
        return PL_STAMPS_KERNEL;
    return probing->stamped ? PL_STAMPS_KERNEL_RECEIVE : PL_STAMPS_USER;
}

int pl_probe_socket_send(struct pl_probe_socket *probing, uint64_t sequence)
{
    uint8_t *payload = probing->message + PL_ICMP_HEADER_BYTES;
    const uint8_t *begin = payload;
    size_t bytes = probing->payload_bytes;
    if (pl_method_is_echoed(probing->method)) {
        const struct pl_probe_head head = {.cookie = probing->cookie, .sequence = sequence};
        pl_probe_encode(&head, PL_PROBE_REQUEST, bytes, probing->token, payload);
    } else {
        pl_put64(payload + ICMP_COOKIE_AT, probing->cookie);
        pl_put64(payload + ICMP_SEQUENCE_AT, sequence);
    }
    if (probing->method == PL_PROBE_TCP) {
        probing->sends++;
        return pl_probe_stream_send(probing->fd, begin, bytes);
    }
    if (probing->method != PL_PROBE_UDP) {
        pl_icmp_write_request(probing->message, bytes, probing->v6, probing->identifier, (uint16_t)sequence);
        begin = probing->message;
        bytes += PL_ICMP_HEADER_BYTES;
    }
    for (int attempt = 0; attempt < 2; attempt++) {
        if (send(probing->fd, begin, bytes, MSG_NOSIGNAL) >= 0) {
            probing->sends++;
            return 0;
        }
        /* A connected socket reports the ICMP error of an earlier probe once, instead of sending. */
        if (errno != ECONNREFUSED && errno != EHOSTUNREACH && errno != ENETUNREACH && errno != EINTR)
            break;
    }
    /* The kernel may or may not have counted this send, so its keys are ambiguous from now on. */
    probing->keyed = false;
    return errno;
}

/* The software timestamp in a message's ancillary data, 0 without one; and the key of a transmit timestamp.
 */
static pl_ns read_stamp(struct msghdr *message, uint64_t *key)
{
    pl_ns stamp_ns = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPING) {
            struct scm_timestamping stamps;
            memcpy(&stamps, CMSG_DATA(part), sizeof stamps);
            stamp_ns = pl_timespec_ns(&stamps.ts[0]);
        } else if ((part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) ||
                   (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR)) {
            struct sock_extended_err extended;
            memcpy(&extended, CMSG_DATA(part), sizeof extended);
            if (extended.ee_origin == SO_EE_ORIGIN_TIMESTAMPING && key != NULL)
                *key = extended.ee_data;
        }
    }
    return stamp_ns;
}

bool pl_probe_socket_next_stamp(struct pl_probe_socket *probing, uint64_t *key, pl_ns *kernel_sent_ns)
{
    _Alignas(struct cmsghdr) uint8_t ancillary[512];
    for (int i = 0; probing->keyed && i < READS_PER_TURN; i++) {
        struct iovec data = {.iov_base = probing->incoming, .iov_len = probing->incoming_bytes};
        struct msghdr message = {
            .msg_iov = &data, .msg_iovlen = 1, .msg_control = ancillary, .msg_controllen = sizeof ancillary};
        if (recvmsg(probing->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
            return false;
        *key = UINT64_MAX;
        *kernel_sent_ns = read_stamp(&message, key);
        if (probing->keyed && *key != UINT64_MAX && *kernel_sent_ns != 0) {
            /* The kernel's key has 32 bits: extends it to the nearest number below the sends made. */
            uint64_t newest = probing->sends - 1;
            *key = newest - (uint32_t)((uint32_t)newest - (uint32_t)*key);
            return true;
        }
    }
    return false;
}

/* Whether a message is the echo's reply to a probe of this socket; fills `answer`. */
static bool match_reply(const struct pl_probe_socket *probing, size_t bytes, struct pl_probe_answer *answer)
{
    struct pl_probe_head head;
    if (bytes != probing->payload_bytes ||
        pl_probe_decode(probing->incoming, bytes, PL_PROBE_REPLY, probing->token, &head) !=
            PL_PROBE_ADMITTED ||
        head.cookie != probing->cookie)
        return false;
    answer->sequence = head.sequence;
    answer->held_ns = head.held_ns;
    return true;
}

/* Whether a message answers a probe of this socket; fills `answer`. */
static bool match_answer(const struct pl_probe_socket *probing, size_t bytes, struct pl_probe_answer *answer)
{
    if (pl_method_is_echoed(probing->method))
        return match_reply(probing, bytes, answer);
    bool with_ip_header = probing->method == PL_ICMP_RAW && !probing->v6;
    size_t payload_bytes = bytes;
    const uint8_t *payload =
        pl_icmp_reply_payload(probing->incoming, bytes, probing->v6, with_ip_header, &payload_bytes);
    if (payload == NULL || payload_bytes != probing->payload_bytes ||
        pl_get64(payload + ICMP_COOKIE_AT) != probing->cookie)
        return false;
    answer->sequence = pl_get64(payload + ICMP_SEQUENCE_AT);
    answer->held_ns = -1;
    return true;
}

/* One read of a TCP socket: true when it completed a message, which is then in `incoming`. */
static bool read_stream(struct pl_probe_socket *probing, struct msghdr *message, bool *more)
{
    *message->msg_iov = (struct iovec){.iov_base = probing->incoming + probing->got_bytes,
                                       .iov_len = probing->payload_bytes - probing->got_bytes};
    ssize_t count = recvmsg(probing->fd, message, MSG_DONTWAIT);
    *more = count > 0 || (count < 0 && errno == EINTR);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        probing->failure = count == 0 ? EPIPE : errno;
    if (count <= 0)
        return false;
    probing->got_bytes += (size_t)count;
    if (probing->got_bytes < probing->payload_bytes)
        return false;
    probing->got_bytes = 0;
    return true;
}

/* One read of a datagram or raw socket: true for a complete message, with its length. */
static bool read_message(struct pl_probe_socket *probing, struct msghdr *message, size_t *bytes, bool *more)
{
    *message->msg_iov = (struct iovec){.iov_base = probing->incoming, .iov_len = probing->incoming_bytes};
    ssize_t count = recvmsg(probing->fd, message, MSG_DONTWAIT);
    *more = count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    *bytes = count > 0 ? (size_t)count : 0;
    /* An error concerns an earlier probe (port unreachable), which counts as lost after its time-out. */
    return count >= 0 && (message->msg_flags & MSG_TRUNC) == 0;
}

bool pl_probe_socket_next_answer(struct pl_probe_socket *probing, struct pl_probe_answer *answer)
{
    _Alignas(struct cmsghdr) uint8_t ancillary[256];
    bool more = true;
    for (int i = 0; more && i < READS_PER_TURN; i++) {
        struct iovec data;
        struct msghdr message = {
            .msg_iov = &data, .msg_iovlen = 1, .msg_control = ancillary, .msg_controllen = sizeof ancillary};
        size_t bytes = probing->payload_bytes;
        bool complete = probing->method == PL_PROBE_TCP ? read_stream(probing, &message, &more)
                                                        : read_message(probing, &message, &bytes, &more);
        if (!complete || !match_answer(probing, bytes, answer))
            continue;
        answer->kernel_received_ns = read_stamp(&message, NULL);
        return true;
    }
    return false;
}

int pl_probe_socket_failure(const struct pl_probe_socket *probing)
{
    return probing->failure;
}
