/* A histogram of lateness in nanoseconds, with 32 steps per octave: a percentile is at most 3.2 % too high.
 */
#ifndef PL_LATENESS_H
#define PL_LATENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/json.h"

enum { PL_LATENESS_STEP_BITS = 5, PL_LATENESS_BUCKETS = 1920 };

struct pl_lateness {
    uint64_t buckets[PL_LATENESS_BUCKETS];
    uint64_t count;
    pl_ns max_ns;
};

/* Counts one value; a negative one counts as 0. */
void pl_lateness_add(struct pl_lateness *lateness, pl_ns late_ns);

/* Adds the counts of `other` to `into`. */
void pl_lateness_merge(struct pl_lateness *into, const struct pl_lateness *other);

/* The upper edge of the bucket that holds the quantile `ratio` (0..1), at most `max_ns`. False, and nothing
 * written, for an empty histogram. */
bool pl_lateness_percentile(const struct pl_lateness *lateness, double ratio, pl_ns *late_ns);

/* {"median":…,"p99":…,"max":…} under `key`, nanoseconds; nulls where nothing was counted. */
void pl_lateness_write(const struct pl_lateness *lateness, struct pl_json *j, const char *key);

#endif
