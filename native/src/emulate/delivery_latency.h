/* Delivery-latency compensation: the time from the start of a write until the packet is at the far host,
 * after a pause.
 *
 * The write of a delivery runs the path to the other host, that host's stack and often its answer, on this
 * core. After a pause their code and data are in no cache, and the packet reaches the far host well after the
 * start of the write. Since that is the time of delivery, such a write begins earlier: by half of the
 * duration of recent writes of small packets after a pause, which is below the measured time until an
 * answer's own timestamp (0.8 of the write), and at most by PL_DELIVERY_LATENCY_NS_MAX. */
#pragma once

#include <stddef.h>

#include "base/clock.h"

enum {
    PL_DELIVERY_LATENCY_NS_MAX = 15000,
    PL_DELIVERY_LATENCY_PAUSE_NS = 100000,
    PL_DELIVERY_LATENCY_SMALL_BYTES = 2048
};

/* All zero: unknown, the lead is 0. */
struct pl_delivery_latency {
    pl_ns write_ns; /* moving average of writes after a pause; 0: none yet */
};

/* The lead of a write when the previous one was at `written_ns`. */
pl_ns pl_delivery_latency_lead_ns(const struct pl_delivery_latency *latency, pl_ns written_ns, pl_ns now_ns);

/* Learn from a write of `length_bytes` from `began_ns` to `ended_ns`; ignores writes without a pause. */
void pl_delivery_latency_learn(struct pl_delivery_latency *latency, pl_ns written_ns, pl_ns began_ns,
                               pl_ns ended_ns, size_t length_bytes);
