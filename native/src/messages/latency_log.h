/* Durations that one thread records and another one writes out, an interval at a time, without a lock. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "base/relaxed.h"

/* Intervals that wait to be written; where more would wait, the last one grows instead. One of
 * them is for the first interval after the warm-up alone. */
#define PL_LATENCY_SLOTS 8

/* What is recorded of an interval. It begins at `start_ns` after the start of the trial. */
struct pl_latency_slot {
    pl_ns start_ns;
    pl_ns end_ns;
    struct pl_histogram durations;
};

struct pl_latency_log {
    pl_ns interval_ns;
    pl_ns warmup_ns;          /* the grid of intervals begins anew there */
    _Atomic uint32_t filled;  /* slots completed, by the recorder */
    _Atomic uint32_t emptied; /* slots written, by the reader */
    pl_ns end_ns;             /* of the open slot; the recorder's */
    struct pl_latency_slot slots[PL_LATENCY_SLOTS];
};

/* NULL when memory ran out. Free with free(). */
struct pl_latency_log *pl_latency_log_create(pl_ns interval_ns, pl_ns warmup_ns);

/* For the recorder: completes slots up to `at_ns`, for which the open one is too early. */
void pl_latency_log_advance(struct pl_latency_log *log, pl_ns at_ns);
/* For the recorder: completes the open slot, when no more will come. */
void pl_latency_log_finish(struct pl_latency_log *log);

/* For the recorder: counts a duration that began at `at_ns` after the start of the trial. Beginnings do not
 * go back by more than the time by which messages overtake each other; an earlier one counts in the open
 * interval. */
static inline void pl_latency_log_add(struct pl_latency_log *log, pl_ns at_ns, pl_ns duration_ns)
{
    if (at_ns >= log->end_ns)
        pl_latency_log_advance(log, at_ns);
    uint32_t open = pl_load_relaxed(&log->filled) % PL_LATENCY_SLOTS;
    pl_histogram_add(&log->slots[open].durations, duration_ns);
}

/* For the reader: the oldest completed slot, or NULL. Hand it back with pl_latency_log_release(). */
const struct pl_latency_slot *pl_latency_log_next(struct pl_latency_log *log);
void pl_latency_log_release(struct pl_latency_log *log);
