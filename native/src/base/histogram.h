/* A histogram of durations in nanoseconds, with 128 steps per octave: a value read from it is at most 0.8 %
 * too high. Its places are those of HdrHistogram with two significant digits, so histograms can be added and
 * written in its V2 encoding without any loss. Source: HdrHistogram (public domain), class AbstractHistogram.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/json.h"

enum { PL_HISTOGRAM_STEP_BITS = 7, PL_HISTOGRAM_PLACES = 7168 };

/* The largest value; larger ones are counted as this one (146 years). */
#define PL_HISTOGRAM_MAX_NS ((INT64_C(1) << 62) - 1)

/* Zero-initialise. */
struct pl_histogram {
    uint64_t counts[PL_HISTOGRAM_PLACES];
    uint64_t count;
    pl_ns min_ns; /* 0 while nothing is counted */
    pl_ns max_ns;
    uint64_t sum_low_ns; /* exact: the low 64 bits, and how often they overflowed */
    uint64_t sum_overflows;
};

/* Counts one value; a negative one counts as 0. */
void pl_histogram_add(struct pl_histogram *histogram, pl_ns value_ns);

/* Adds the counts of `other` to `into`. */
void pl_histogram_merge(struct pl_histogram *into, const struct pl_histogram *other);

/* The highest value that is counted where the quantile `ratio` (0..1) is, at most `max_ns`. False, and
 * nothing written, for an empty histogram. */
bool pl_histogram_quantile(const struct pl_histogram *histogram, double ratio, pl_ns *value_ns);
/* Whether at least ten samples are above a quantile that one sample in `one_in` is above: with fewer it says
 * little more than the maximum. `one_in` 0: the maximum itself. */
bool pl_histogram_supports(const struct pl_histogram *histogram, uint64_t one_in);

/* {"median":…,"p99":…,"max":…} under `key`, nanoseconds; nulls where nothing was counted. */
void pl_histogram_write_summary(const struct pl_histogram *histogram, struct pl_json *j, const char *key);

/* [[low, high, count]...] under `key`: the places that hold values, both ends included; the last one ends at
 * the maximum. */
void pl_histogram_write_places(const struct pl_histogram *histogram, struct pl_json *j, const char *key);

/* {"count":…,"min":…,"max":…,"mean":…,"hdr":"…"} under `key`: all that was counted. `hdr` is the V2 encoding,
 * uncompressed, in base64. Nulls where nothing was counted. */
void pl_histogram_write(const struct pl_histogram *histogram, struct pl_json *j, const char *key);
