/* Carries packets between two devices through two links, one per direction, in one thread. */
#ifndef PL_FORWARDER_H
#define PL_FORWARDER_H

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
 * tenth of the time: a sleeper wakes 30 to 100 us late, and endless spinning would starve the hosts under
 * test. While traffic flows over a link that delays and whose packets the kernel stamps, it is not woken by
 * each packet: those of up to 0.1 ms are read together, each with its own time of arrival.
 * `revents` of `others` are set. */
void pl_forwarder_wait(struct pl_forwarder *forwarder, struct pollfd *others, unsigned count);

#endif
