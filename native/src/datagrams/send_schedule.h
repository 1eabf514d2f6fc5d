/* When the datagrams of a thread are due at an offered rate: an even spacing, exact for any rate. */
#pragma once

#include <stdint.h>

#include "base/clock.h"

struct pl_send_schedule {
    pl_ns due_ns; /* of the next unit, on the clock of the start */
    /* A unit takes step_ns + part / whole ns. */
    pl_ns step_ns;
    uint64_t part;
    uint64_t whole;
    uint64_t owed; /* of the next nanosecond, in parts of `whole` */
};

/* Units of `unit_bytes` (at most 65,535) of `share` of the flow's `streams` streams (at most 4,096), which
 * have `rate_bits_per_s` (1 to 10^14) together. The first one is due at `start_ns`. */
void pl_send_schedule_begin(struct pl_send_schedule *schedule, pl_ns start_ns, uint64_t unit_bytes,
                            uint64_t rate_bits_per_s, uint32_t share, uint32_t streams);
/* One unit was sent. */
void pl_send_schedule_advance(struct pl_send_schedule *schedule);
/* Gives up all units that are due before `until_ns`. Returns how many: exact, without a step for each. */
uint64_t pl_send_schedule_skip(struct pl_send_schedule *schedule, pl_ns until_ns);
