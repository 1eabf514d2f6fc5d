/* Carries packets between two devices through two links, one per direction, in one thread.
 *
 * Counts per direction are of wire segments, so that
 *   arrived + duplicated = queue_dropped + lost + overflow_dropped + delivered + write_errors + waiting.
 */
#ifndef PL_FORWARDER_H
#define PL_FORWARDER_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "delay_line.h"
#include "device.h"
#include "error.h"
#include "lateness.h"
#include "link.h"
#include "packet.h"

struct pl_direction_counters {
    uint64_t duplicated_packets, delivered_packets, delivered_bytes;
    uint64_t waiting_packets;          /* now in the queue or on the way */
    uint64_t overflow_dropped_packets; /* the bound on buffers was hit: outside the model */
    uint64_t write_errors;             /* segments that the kernel did not take: outside the model */
    uint64_t unsplit_packets;          /* super-packets of a kind that is passed as one packet */
    uint64_t unreadable_packets; /* of a kind that the kernel cannot hand over: dropped, not in `arrived` */
};

struct pl_direction {
    struct pl_device *from, *to; /* borrowed */
    struct pl_link link;
    struct pl_delay_line line;
    struct pl_direction_counters counters;
};

struct pl_forwarder {
    struct pl_direction directions[2]; /* a to b, b to a */
    struct pl_packet_pool pool;
    struct pl_packet *landing_small, *landing_big; /* every packet is read into these two */
    struct pl_lateness lateness;
    pl_ns spin_ns;
    pl_ns spin_budget_ns, budget_at_ns;
};

struct pl_forwarder_plan {
    struct pl_device *devices; /* two, borrowed */
    struct pl_link_settings settings[2];
    uint64_t seed;
    uint64_t buffer_bytes; /* bound on packet buffers, both directions together; at least 1 MiB */
    pl_ns spin_ns;         /* wait this long before a delivery by spinning; 0: sleep to the end */
};

/* Allocate and touch the first buffers. PL_RESOURCES: no memory. pl_forwarder_free is needed also after a
 * failure. */
enum pl_status pl_forwarder_init(struct pl_forwarder *forwarder, const struct pl_forwarder_plan *plan,
                                 struct pl_error *error);

/* Free everything that init made, and the packets that wait. */
void pl_forwarder_free(struct pl_forwarder *forwarder);

/* Read and deliver once what is there and due, a bounded number of packets. `*busy`: there may be more at
 * once. PL_ENDED: a device is gone, which the text names. */
enum pl_status pl_forwarder_step(struct pl_forwarder *forwarder, bool *busy, struct pl_error *error);

struct pollfd;

/* Wait until a delivery is due, a packet has come or one of the `count` descriptors of `others` (at most 2)
 * is ready, and at most 100 ms. Sleeps until shortly before the delivery and spins the rest, for at most a
 * fifth of the time: a sleeper wakes 30 to 100 us late, and endless spinning would starve the hosts under
 * test. `revents` of `others` are set. */
void pl_forwarder_wait(struct pl_forwarder *forwarder, struct pollfd *others, unsigned count);

#endif
