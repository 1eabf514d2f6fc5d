/* CoDel (RFC 8289) as a pure state machine, fed one packet at a time in the order of the queue.
 *
 * A queue in virtual time knows at arrival when a packet will leave it, so the machine runs on that time and
 * its drops and marks fall on the packets on which they would fall at the head of the queue. One thing cannot
 * be known yet: what will have arrived behind the packet. The rule that spares the last packet of a queue
 * therefore looks at the bytes ahead of it. An ECN mark in place of a drop schedules the next one at once, as
 * in Linux (the RFC leaves it open).
 */
#ifndef PL_CODEL_H
#define PL_CODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Zero-initialise. */
struct pl_codel {
    pl_ns first_above_ns; /* holds while `above`: when the wait will have been above for an interval */
    pl_ns next_ns;        /* when the next packet is to be dropped or marked */
    uint32_t count, last_count;
    uint32_t largest_bytes; /* packet seen */
    bool above, dropping;
    bool unscheduled; /* a packet was dropped, and `next_ns` waits for the one behind it */
};

struct pl_codel_times {
    pl_ns target_ns, interval_ns; /* above 0 */
};

struct pl_codel_packet {
    pl_ns arrival_ns, leave_ns; /* `leave_ns`, when its transmission begins, never goes back */
    uint64_t ahead_bytes;       /* of the queue when it arrived */
    uint32_t size_bytes;
    bool markable; /* ECN-capable: it will be marked, not dropped */
};

/* True: drop this packet, or mark it where it is markable. */
bool pl_codel_decide(struct pl_codel *codel, const struct pl_codel_times *times,
                     const struct pl_codel_packet *packet);

#endif
