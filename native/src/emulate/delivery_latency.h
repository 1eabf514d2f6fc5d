/* How long a packet takes from the emulator's hands into the far host's, when nothing has run for a while.
 *
 * The write of a delivery runs the way to the other host, that host's stack and often its answer, on this
 * core. After a pause the code and data of that way are in no cache, and the packet is with the far host
 * only well after the write has begun: that is when it counts as delivered, so such a write begins earlier
 * by as much. Half of what recent writes of small packets after a pause have taken is used, which is less
 * than what was seen of an answer's own stamp (0.8 of the write), and never more than
 * PL_DELIVERY_LATENCY_NS_MAX. */
#ifndef PL_DELIVERY_LATENCY_H
#define PL_DELIVERY_LATENCY_H

#include <stddef.h>

#include "base/clock.h"

enum {
    PL_DELIVERY_LATENCY_NS_MAX = 15000,
    PL_DELIVERY_LATENCY_PAUSE_NS = 100000,
    PL_DELIVERY_LATENCY_SMALL_BYTES = 2048
};

/* All zero: nothing known, the lead is 0. */
struct pl_delivery_latency {
    pl_ns write_ns; /* moving average of writes after a pause; 0: none yet */
};

/* By how much a write may begin early when the last thing was done at `written_ns`. */
pl_ns pl_delivery_latency_lead_ns(const struct pl_delivery_latency *latency, pl_ns written_ns, pl_ns now_ns);

/* Learn from a write of `length_bytes` from `began_ns` to `ended_ns`; what came without a pause is not used.
 */
void pl_delivery_latency_learn(struct pl_delivery_latency *latency, pl_ns written_ns, pl_ns began_ns,
                               pl_ns ended_ns, size_t length_bytes);

#endif
