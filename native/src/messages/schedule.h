/* The intended send times of messages at an even rate. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Of rounds with `messages` each. */
struct pl_schedule {
    pl_ns start_ns;     /* of round 0, on pl_now_ns()'s clock */
    int64_t rate_per_s; /* of messages, > 0 */
    uint32_t messages;
};

/* When a round is to be sent; exact for any rate, without an error that grows. */
pl_ns pl_schedule_due_ns(const struct pl_schedule *schedule, uint64_t round);

/* Waits until `due_ns`: sleeps, and spins for the time by which sleeps overrun, which it adds to `spun_ns`.
 * Returns the time then, at once where that is past. A signal may end the sleep early: the time is then
 * before `due_ns`. */
pl_ns pl_wait_until(pl_ns due_ns, pl_ns *spun_ns);

/* Whether what was due in the offered time, and is late by `late_ns` when that ends, is still sent: not with
 * more of it than a missed rate leaves. */
bool pl_may_catch_up(pl_ns offered_ns, pl_ns late_ns);
