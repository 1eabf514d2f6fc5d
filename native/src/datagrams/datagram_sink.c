/* The role that receives datagrams: many with one system call, each checked by its header and counted. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/events.h"
#include "base/relaxed.h"
#include "datagrams/datagram_stream.h"
#include "datagrams/datagram_worker.h"

/* From <linux/udp.h>, which older systems lack. */
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define BATCH 64
#define COALESCED_BYTES 65536
/* Calls on one socket in one turn. */
#define CALLS_OF_TURN 8
#define IDLE_MS 100
#define DRAIN_MS 10
/* Datagrams may still come for this time after the latest one and after the end that the sender stated. */
#define LATE_NS (250 * PL_NS_PER_MS)
#define ECN_BITS 3

/* Room for the size of coalesced datagrams, and for the traffic class. */
struct control {
    alignas(struct cmsghdr) uint8_t room[2 * CMSG_SPACE(sizeof(int))];
};

struct sink {
    struct mmsghdr messages[BATCH];
    struct iovec parts[BATCH];
    struct control controls[BATCH];
    unsigned count;
    bool controlled; /* control messages come with the datagrams */
    size_t bytes;    /* payload of a datagram */
};

/* What comes with a message. */
struct extra {
    size_t segment_bytes; /* 0: it is one datagram */
    int mark;             /* its ECN field; -1: unknown */
};

static struct extra read_extra(struct msghdr *message)
{
    struct extra extra = {.mark = -1};
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL; head = CMSG_NXTHDR(message, head)) {
        int value = 0;
        size_t bytes = head->cmsg_len - CMSG_LEN(0);
        if (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_TOS && bytes >= 1) {
            extra.mark = *CMSG_DATA(head) & ECN_BITS;
            continue;
        }
        if (bytes < sizeof value)
            continue;
        memcpy(&value, CMSG_DATA(head), sizeof value);
        if (head->cmsg_level == IPPROTO_UDP && head->cmsg_type == UDP_GRO && value > 0)
            extra.segment_bytes = (size_t)value;
        else if (head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_TCLASS)
            extra.mark = value & ECN_BITS;
    }
    return extra;
}

/* Counts the datagrams of one message; returns their payload. */
static size_t take_message(const struct sink *sink, struct pl_datagram_link *link, const uint8_t *data,
                           size_t bytes, const struct extra *extra, pl_ns now_ns)
{
    size_t step = extra->segment_bytes > 0 ? extra->segment_bytes : bytes;
    size_t taken = 0;
    size_t at = 0;
    do {
        struct pl_datagram_header header;
        size_t size = bytes - at < step ? bytes - at : step;
        if (size != sink->bytes || !pl_datagram_header_decode(data + at, link->check_in, &header)) {
            pl_counter_add(&link->foreign, 1);
        } else {
            pl_sequence_meter_add(link->meter, header.sequence, header.sent_ns, now_ns,
                                  header.phase == PL_DATAGRAM_STEADY);
            if (extra->mark >= 0)
                pl_counter_add(&link->marks[extra->mark], 1);
            taken += size;
        }
        at += step;
    } while (at < bytes);
    return taken;
}

/* Counts the messages of one call. */
static void take_messages(struct pl_worker *worker, struct pl_stream *stream, int count)
{
    struct sink *sink = worker->state;
    struct pl_datagram_link *link = stream->link;
    pl_ns now_ns = pl_now_ns();
    uint64_t before = pl_sequence_meter_totals(link->meter).received;
    size_t taken = 0;
    if (link->receipted) /* the receipt has stated what comes now as lost */
        return;
    for (int i = 0; i < count; i++) {
        struct msghdr *message = &sink->messages[i].msg_hdr;
        struct extra extra = {.mark = -1};
        if (sink->controlled)
            extra = read_extra(message);
        taken +=
            take_message(sink, link, message->msg_iov->iov_base, sink->messages[i].msg_len, &extra, now_ns);
        message->msg_flags = 0;
    }
    if (taken == 0)
        return;
    link->heard_ns = now_ns;
    pl_worker_record_first_byte(worker, now_ns);
    /* A copy is no further data; the limit of bytes is of all that came. */
    pl_counter_add(&stream->received_bytes,
                   (pl_sequence_meter_totals(link->meter).received - before) * sink->bytes);
    (void)pl_worker_count(worker, taken);
    pl_datagram_link_publish(link);
}

static void receive(struct pl_worker *worker, struct pl_stream *stream)
{
    struct sink *sink = worker->state;
    struct pl_datagram_link *link = stream->link;
    for (int call = 0; call < CALLS_OF_TURN; call++) {
        for (unsigned i = 0; sink->controlled && i < sink->count; i++)
            sink->messages[i].msg_hdr.msg_controllen = sizeof sink->controls[i].room;
        int count = recvmmsg(link->fd, sink->messages, sink->count, MSG_DONTWAIT, NULL);
        worker->calls++;
        /* What ICMP says of datagrams that this end has sent makes the socket readable as well. */
        if (count <= 0 && worker->shared->transmits)
            atomic_fetch_add_explicit(&link->unreachable, pl_datagram_link_take_errors(link),
                                      memory_order_relaxed);
        if (count > 0)
            take_messages(worker, stream, count);
        if (count < (int)sink->count)
            return;
    }
}

void *pl_datagram_sink_create(void)
{
    return calloc(1, sizeof(struct sink));
}

static void prepare(struct sink *sink, struct pl_worker *worker)
{
    const struct pl_datagram_settings *datagrams = worker->shared->datagrams;
    size_t room = datagrams->gro ? COALESCED_BYTES : (size_t)datagrams->bytes;
    size_t count = worker->shared->read_bytes / room;
    sink->count = count < BATCH ? (unsigned)count : BATCH;
    sink->controlled = datagrams->gro || datagrams->counts_ecn;
    sink->bytes = (size_t)datagrams->bytes;
    for (unsigned i = 0; i < sink->count; i++) {
        sink->parts[i] = (struct iovec){.iov_base = worker->read_buffer + i * room, .iov_len = room};
        sink->messages[i].msg_hdr = (struct msghdr){.msg_iov = &sink->parts[i], .msg_iovlen = 1};
        if (sink->controlled)
            sink->messages[i].msg_hdr.msg_control = sink->controls[i].room;
    }
}

/* Nothing more of the stream will come: states what has come. */
static void give_receipt(struct pl_worker *worker, struct pl_stream *stream)
{
    struct pl_datagram_link *link = stream->link;
    pl_datagram_link_close_window(link);
    const struct pl_datagram_counts *steady = &link->steady;
    const struct pl_statement receipt = {.kind = PL_STATEMENT_RECEIPT,
                                         .bytes = atomic_load(&stream->received_bytes),
                                         .received = atomic_load(&steady->received),
                                         .duplicates = atomic_load(&steady->duplicates),
                                         .reordered = atomic_load(&steady->reordered)};
    pl_datagram_state(worker, stream, &receipt);
    link->receipted = true;
}

/* Gives the receipts that are due. Returns how many streams are open, of which `waiting` wait for late
 * datagrams or for this end's other thread. */
static uint32_t follow_ends(struct pl_worker *worker, uint32_t *waiting)
{
    uint32_t open = 0;
    pl_ns now_ns = pl_now_ns();
    *waiting = 0;
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_stream *stream = worker->streams[i];
        struct pl_datagram_link *link = stream->link;
        if (!pl_datagram_is_open(stream))
            continue;
        open++;
        if (!pl_load_relaxed(&link->ended)) {
            pl_datagram_end_if_done(worker, stream); /* its sending may have failed */
            continue;
        }
        (*waiting)++;
        bool late =
            now_ns - link->heard_ns > LATE_NS || now_ns - link->ended_ns > worker->shared->drain_timeout_ns;
        if (!link->receipted && (late || pl_datagram_link_is_complete(link)))
            give_receipt(worker, stream);
        pl_datagram_end_if_done(worker, stream);
    }
    return open;
}

void pl_datagram_sink_run(struct pl_worker *worker)
{
    uint32_t waiting = 0;
    prepare(worker->state, worker);
    pl_ns followed_ns = 0;
    while (!pl_datagram_is_over(worker)) {
        pl_datagram_serve(worker, waiting > 0 ? DRAIN_MS : IDLE_MS, receive);
        pl_ns now_ns = pl_now_ns();
        pl_datagram_tick(worker, now_ns);
        if (now_ns - followed_ns < DRAIN_MS * PL_NS_PER_MS && !worker->notified)
            continue;
        worker->notified = false;
        followed_ns = now_ns;
        if (follow_ends(worker, &waiting) == 0)
            break;
    }
}
