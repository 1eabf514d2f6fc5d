/* A pure model of one direction of a link: who is dropped, who is lost, and when the rest arrives.
 *
 * Virtual time: the whole fate of a packet is decided when it arrives, and only its delivery waits. A late
 * wake-up of the process therefore moves one delivery; it never changes the rate, the queue or the loss.
 *
 *   arrival -> drop-tail queue -> CoDel, ECN marks -> serializer (rate) -> loss on the wire
 *           -> delay, jitter, reordering, duplication
 *
 * CoDel decides at the time at which the packet will leave the queue (codel.h); what it drops has used no
 * room in the queue meanwhile, which it would in a real one.
 * Packets of others (`cross_bits_per_s`) have 1500 bytes and come as a Poisson process; they meet the queue's
 * bound and the serializer, not CoDel, are never delivered and give way to nobody. After a pause in which no
 * packet came to be decided about, the last 8000 of them are played back, and no less than 200 ms, so that
 * the queue has settled. Sizes are bytes at IP level. A lost packet has used its share of the rate; a dropped
 * one has not. No sockets, no clock, no allocation: `now_ns` is the caller's.
 */
#ifndef PL_LINK_H
#define PL_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "emulate/codel.h"
#include "emulate/ip_header.h"
#include "emulate/link_settings.h"

/* What is decided by chance has its own generator each, stepped once per arrival: the n-th packet meets the
 * same draws whatever else is set and however full the queue is. */
enum pl_link_draw {
    PL_DRAW_LOSS,
    PL_DRAW_STATE,
    PL_DRAW_JITTER,
    PL_DRAW_REORDER,
    PL_DRAW_DUPLICATE,
    PL_DRAW_CROSS, /* stepped once per packet of others */
    PL_DRAWS
};

/* The numbers stand in traces (trace.h). */
enum pl_link_fate { PL_FATE_DELIVERED, PL_FATE_QUEUE_DROPPED, PL_FATE_LOST, PL_FATE_AQM_DROPPED };

struct pl_link_verdict {
    enum pl_link_fate fate;
    bool duplicate; /* deliver it twice */
    bool mark;      /* set CE; it was not set before */
    pl_ns due_ns;   /* delivered packets only */
};

struct pl_link_counters {
    uint64_t arrived_packets, arrived_bytes, queue_dropped_packets, lost_packets;
    uint64_t aqm_dropped_packets;
    uint64_t cross_packets, cross_dropped_packets; /* of others; in no other count */
    uint64_t marked_packets;                       /* some may then have been lost on the wire */
};

struct pl_link {
    struct pl_link_settings settings;
    struct pl_link_counters counters;
    uint64_t draws[PL_DRAWS]; /* splitmix64 states */
    bool bad_state;
    struct pl_codel codel;
    pl_ns free_at_ns;        /* when the serializer will have sent all it accepted ... */
    uint64_t free_remainder; /* ... and this many rate-ths of a nanosecond later */
    pl_ns last_due_ns;       /* keeps the order */
    pl_ns latest_ns;         /* of the times told so far */
    pl_ns cross_due_ns;      /* when the next packet of others comes */
    /* What was accepted under an earlier rate keeps its due times: it drains until `earlier_until_ns`. */
    pl_ns earlier_until_ns;
    uint64_t earlier_bits_per_s;
};

/* Begin an empty link. `direction` (0, 1) makes the draws of the two directions of one seed independent. */
void pl_link_init(struct pl_link *link, const struct pl_link_settings *settings, uint64_t seed,
                  unsigned direction);

/* Change settings at `now_ns`. Packets already accepted keep their fate and due time. */
void pl_link_change(struct pl_link *link, const struct pl_link_settings *settings, pl_ns now_ns);

/* Bytes accepted and not yet on the wire at `now_ns`, as a fluid: the rest of the packet being sent counts.
 * A packet is dropped when this and its own size together exceed `queue_bytes`, or when it would wait for an
 * hour. Rounded up; 0 at unlimited rate. */
uint64_t pl_link_backlog_bytes(const struct pl_link *link, pl_ns now_ns);

/* Decide the fate of one wire packet with this ECN field. A `now_ns` before the latest one told, also
 * to pl_link_change, counts as that one: stamps of arrival may lie before a change of settings. `size_bytes`
 * at most 1 MiB. */
struct pl_link_verdict pl_link_admit(struct pl_link *link, pl_ns now_ns, uint32_t size_bytes,
                                     enum pl_ecn ecn);

#endif
