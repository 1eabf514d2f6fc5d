/* How late deliveries were: a histogram of nanoseconds with 32 steps per octave (a percentile is at most 3.2
 * % high). */
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

/* Count one; below 0 counts as 0. */
void pl_lateness_add(struct pl_lateness *lateness, pl_ns late_ns);

/* Count in `into` what `other` has counted. */
void pl_lateness_merge(struct pl_lateness *into, const struct pl_lateness *other);

/* The upper edge of the bucket in which the share `ratio` (0..1) of all lies, at most `max_ns`.
 * False, and nothing written, when there are none. */
bool pl_lateness_percentile(const struct pl_lateness *lateness, double ratio, pl_ns *late_ns);

/* {"median":…,"p99":…,"max":…} under `key`, nanoseconds; nulls where nothing was counted. */
void pl_lateness_write(const struct pl_lateness *lateness, struct pl_json *j, const char *key);

#endif
