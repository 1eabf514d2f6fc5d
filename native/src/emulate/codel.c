#include "emulate/codel.h"

#include <math.h>

enum { MEMORY_INTERVALS = 16 }; /* RFC 8289, 5.5: time for which the last drop rate is resumed */

/* RFC 8289, 5.6: the inverse square root makes the throughput of TCP fall linearly. */
static pl_ns schedule(const struct pl_codel_times *times, pl_ns from_ns, uint32_t count)
{
    return from_ns + (pl_ns)((double)times->interval_ns / sqrt((double)count));
}

/* Whether the wait has been above the target for at least an interval. */
static bool stays_above(struct pl_codel *codel, const struct pl_codel_times *times,
                        const struct pl_codel_packet *packet)
{
    if (packet->size_bytes > codel->largest_bytes)
        codel->largest_bytes = packet->size_bytes;
    if (packet->leave_ns - packet->arrival_ns < times->target_ns ||
        packet->ahead_bytes <= codel->largest_bytes) {
        codel->above = false;
        return false;
    }
    if (!codel->above) {
        codel->above = true;
        codel->first_above_ns = packet->leave_ns + times->interval_ns;
        return false;
    }
    return packet->leave_ns >= codel->first_above_ns;
}

static bool continue_dropping(struct pl_codel *codel, const struct pl_codel_times *times,
                              const struct pl_codel_packet *packet)
{
    if (codel->unscheduled) {
        codel->next_ns = schedule(times, codel->next_ns, codel->count);
        codel->unscheduled = false;
    }
    if (packet->leave_ns < codel->next_ns)
        return false;
    codel->count++;
    if (packet->markable)
        codel->next_ns = schedule(times, codel->next_ns, codel->count);
    else
        codel->unscheduled = true;
    return true;
}

bool pl_codel_decide(struct pl_codel *codel, const struct pl_codel_times *times,
                     const struct pl_codel_packet *packet)
{
    if (!stays_above(codel, times, packet)) {
        codel->dropping = codel->unscheduled = false;
        return false;
    }
    if (codel->dropping)
        return continue_dropping(codel, times, packet);
    codel->dropping = true;
    uint32_t delta = codel->count - codel->last_count;
    bool recent = packet->leave_ns - codel->next_ns < MEMORY_INTERVALS * times->interval_ns;
    codel->count = delta > 1 && recent ? delta : 1;
    codel->last_count = codel->count;
    codel->next_ns = schedule(times, packet->leave_ns, codel->count);
    return true;
}
