/* The time line of a trial: warm-up, steady window and drain, each divided into intervals. Pure arithmetic.
 *
 * Times are nanoseconds since the start of the trial. Boundaries are planned on a grid that begins anew with
 * each phase, and recorded at the instant at which the counters were sampled, so a phase ends exactly where
 * its last interval ends. A late sample skips the boundaries that it missed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* The length of a steady window that does not end by time. */
#define PL_UNPLANNED_NS (INT64_MAX / 4)

enum pl_phase { PL_WARMUP, PL_STEADY, PL_DRAIN, PL_PHASE_COUNT };

struct pl_span {
    pl_ns start_ns;
    pl_ns end_ns;
};

struct pl_interval {
    int64_t index;
    enum pl_phase phase;
    struct pl_span span;
};

struct pl_phases {
    pl_ns interval_ns;
    pl_ns planned_end_ns[PL_PHASE_COUNT];
    enum pl_phase current;
    pl_ns grid_ns; /* where the current phase's grid begins */
    pl_ns open_ns; /* start of the open interval */
    int64_t index;
    struct pl_span spans[PL_PHASE_COUNT];
};

const char *pl_phase_name(enum pl_phase phase);

/* Begins at 0. `interval_ns` > 0; a warm-up of 0 is left at once. */
void pl_phases_begin(struct pl_phases *phases, pl_ns interval_ns, pl_ns warmup_ns, pl_ns duration_ns);
/* When the next sample is due. */
pl_ns pl_phases_next_ns(const struct pl_phases *phases);
/* Closes the open interval at `now_ns`, enters the next phase when the current one has reached its planned
 * end, and returns the closed interval. */
struct pl_interval pl_phases_close(struct pl_phases *phases, pl_ns now_ns);
/* Enters the drain at the end of the latest closed interval, regardless of the plan. */
void pl_phases_cut(struct pl_phases *phases);
/* Ends the time line there; a phase that was never entered has length 0. */
void pl_phases_finish(struct pl_phases *phases);
