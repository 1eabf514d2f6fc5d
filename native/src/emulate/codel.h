/* CoDel (RFC 8289) as a pure state machine, fed one packet at a time in the order of the queue.
 *
 * A queue in virtual time knows at arrival when a packet will leave it. The machine runs on that time, so
 * drops and marks hit the same packets as at the head of a real queue. It cannot know which packets will have
 * arrived behind the packet, so the rule that spares the last packet of a queue looks at the bytes ahead of
 * it. An ECN mark in place of a drop schedules the next one at once, as in Linux (the RFC leaves this open).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Zero-initialise. */
struct pl_codel {
    pl_ns first_above_ns; /* valid while `above`: when the wait will have been above for an interval */
    pl_ns next_ns;        /* time of the next drop or mark */
    uint32_t count, last_count;
    uint32_t largest_bytes; /* largest packet so far */
    bool above, dropping;
    bool unscheduled; /* a packet was dropped; `next_ns` is computed at the next packet */
};

struct pl_codel_times {
    pl_ns target_ns, interval_ns; /* above 0 */
};

struct pl_codel_packet {
    pl_ns arrival_ns, leave_ns; /* `leave_ns`: start of its transmission, never decreases */
    uint64_t ahead_bytes;       /* of the queue at its arrival */
    uint32_t size_bytes;
    bool markable; /* ECN-capable: is marked instead of dropped */
};

/* True: drop this packet, or mark it where it is markable. */
bool pl_codel_decide(struct pl_codel *codel, const struct pl_codel_times *times,
                     const struct pl_codel_packet *packet);
