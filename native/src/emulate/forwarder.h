/* Carries packets between two devices through two links, one per direction, in one thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "emulate/device.h"
#include "emulate/direction.h"
#include "emulate/packet.h"
#include "emulate/trace.h"

struct pl_forwarder {
    struct pl_direction directions[2]; /* a to b, b to a */
    struct pl_packet_pool pool;
    struct pl_packet *read_small, *read_big; /* every packet is read into these two */
    pl_ns spin_ns;
    pl_ns spin_budget_ns, budget_at_ns;
    pl_ns written_ns; /* when a packet was last written */
};

struct pl_forwarder_plan {
    struct pl_device *devices; /* two, borrowed */
    struct pl_link_settings settings[2];
    struct pl_trace *trace; /* borrowed; NULL: none */
    uint64_t seed;
    uint64_t buffer_bytes; /* bound on packet buffers, both directions together; at least 1 MiB */
    pl_ns spin_ns;         /* spin for this time before a delivery; 0: only sleep */
};

/* Allocate and touch the first buffers. False with `error` set: no memory. Call pl_forwarder_free also after
 * a failure. */
bool pl_forwarder_init(struct pl_forwarder *forwarder, const struct pl_forwarder_plan *plan,
                       struct pl_error *error);

/* Free everything that init allocated, and the waiting packets. */
void pl_forwarder_free(struct pl_forwarder *forwarder);

/* Read pending packets and write due deliveries once, a bounded number. `*busy`: there may be more. False
 * with `error` (PL_ENDED): a device is gone, which the text names. */
bool pl_forwarder_step(struct pl_forwarder *forwarder, bool *busy, struct pl_error *error);

struct pollfd;

/* Wait until a delivery is due, a packet arrives or one of the `count` descriptors of `others` (at most 2) is
 * ready, and at most 100 ms. Sets `revents` of `others`.
 *
 * Sleeps until shortly before the delivery and spins the rest, for at most a tenth of the time: a sleeper
 * wakes 30 to 100 us late, and unlimited spinning would starve the hosts under test. With traffic over a link
 * that has delay and kernel timestamps, packets of up to 0.1 ms are read together, each with its own time of
 * arrival. */
void pl_forwarder_wait(struct pl_forwarder *forwarder, struct pollfd *others, unsigned count);
