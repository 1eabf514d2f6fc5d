/* Probes counted by interval instead of one by one: constant memory and few records, however many there are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/histogram.h"
#include "probe/probe_table.h"

/* The probes that were to be sent in [start_ns, end_ns) after the start of the run. */
struct pl_probe_interval {
    pl_ns start_ns;
    pl_ns end_ns;
    uint64_t sent; /* without those that the kernel refused */
    uint64_t lost;
    uint64_t reordered;
    uint64_t resolved; /* answered, lost or refused */
    struct pl_histogram round_trips;
};

struct pl_probe_intervals;

/* `length_ns`: of an interval, at least `probe_interval_ns`. NULL with `error` set. */
struct pl_probe_intervals *pl_probe_intervals_create(pl_ns length_ns, pl_ns probe_interval_ns,
                                                     pl_ns timeout_ns, struct pl_error *error);
void pl_probe_intervals_free(struct pl_probe_intervals *intervals);

/* Counts a probe that was answered or given up. */
void pl_probe_intervals_add(struct pl_probe_intervals *intervals, const struct pl_probe *probe);
/* The oldest interval, once each of its probes was answered or given up; with `ends`, once any of them was.
 * NULL while there is none. Valid until the next call. */
const struct pl_probe_interval *pl_probe_intervals_next(struct pl_probe_intervals *intervals, bool ends);
