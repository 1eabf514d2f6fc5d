/* A pure model of one direction of a link: which packets are dropped, which are lost, and when the others
 * arrive.
 *
 * Virtual time: the fate of a packet is decided at its arrival, and only its delivery waits. A late wake-up
 * of the process moves one delivery; it never changes rate, queue or loss.
 *
 *   arrival -> drop-tail queue -> CoDel, ECN marks -> serializer (rate) -> loss on the wire
 *   -> delay, jitter, reordering, duplication
 *
 * CoDel decides at the time at which the packet will leave the queue (codel.h); a packet that it drops has
 * used no room in the queue meanwhile, which it would in a real one.
 *
 * Cross traffic (`cross_bits_per_s`) is a Poisson process of 1500-byte packets. They pass the queue's bound
 * and the serializer, not CoDel, are never delivered, and do not respond to congestion. After a pause without
 * packets the last 8000 of them, and at least 200 ms, are played back, so that the queue has converged.
 *
 * Several lines (`lines`) take the packets in turn, so that a longer or a fuller one reorders.
 *
 * Sizes are bytes at IP level. A lost packet has used its share of the rate; a dropped one has not. No
 * sockets, no clock, no allocation: the caller passes `now_ns`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "emulate/codel.h"
#include "emulate/ip_header.h"
#include "emulate/link_settings.h"

/* Each random decision has its own generator, stepped once per arrival: the n-th packet gets the same draws
 * whatever the other settings and the queue are. */
enum pl_link_draw {
    PL_DRAW_LOSS,
    PL_DRAW_STATE,
    PL_DRAW_JITTER,
    PL_DRAW_REORDER,
    PL_DRAW_DUPLICATE,
    PL_DRAW_CROSS, /* stepped once per cross-traffic packet */
    PL_DRAWS
};

/* Traces contain these numbers (trace.h). */
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
    uint64_t cross_packets, cross_dropped_packets; /* cross traffic; in no other counter */
    uint64_t marked_packets;                       /* includes packets then lost on the wire */
};

/* One of the lines of a link: with several, packets take them in turn, whatever their sizes are. Each has the
 * link's rate and a queue of its own; the further ones are longer by `line_delay_ns` each. */
struct pl_line {
    struct pl_codel codel;
    pl_ns free_at_ns;        /* when the serializer will have sent all accepted packets ... */
    uint64_t free_remainder; /* ... and this many rate-ths of a nanosecond later */
    pl_ns last_due_ns;       /* keeps packets in order */
    pl_ns cross_due_ns;      /* arrival of the next cross-traffic packet */
    /* Packets accepted under an earlier rate keep their due times: they drain until `earlier_until_ns`. */
    pl_ns earlier_until_ns;
    uint64_t earlier_bits_per_s;
};

struct pl_link {
    struct pl_link_settings settings;
    struct pl_link_counters counters;
    uint64_t draws[PL_DRAWS]; /* splitmix64 states */
    bool bad_state;
    pl_ns latest_ns; /* latest `now_ns` so far */
    struct pl_line lines[PL_LINES_MAX];
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

/* Decide the fate of one wire packet with this ECN field. A `now_ns` before the latest one passed here or to
 * pl_link_change counts as that one: arrival timestamps may be earlier than a change of settings.
 * `size_bytes` at most 1 MiB. */
struct pl_link_verdict pl_link_admit(struct pl_link *link, pl_ns now_ns, uint32_t size_bytes,
                                     enum pl_ecn ecn);
