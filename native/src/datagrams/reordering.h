/* Histograms of loss and reordering, which the meters of any number of streams add to (RFC 4737, RFC 5236).
 *
 * They count datagrams of the measured window. `pl_histogram` counts any 64-bit number: up to 255 each has
 * its own place, above a place is at most 0.8 % wide. About 230 KB, whatever is counted.
 */
#pragma once

#include "base/histogram.h"
#include "datagrams/reorder_density.h"

/* The n of n-reordering (RFC 4737 section 5.4) up to which it is exact; more is counted as this. */
enum { PL_N_REORDERING_MAX = 128 };

/* One thread at a time. Zero-initialise: with 4 histograms of 57 KB it belongs on the heap. */
struct pl_reordering {
    struct pl_histogram loss_runs;       /* numbers lost in a row */
    struct pl_histogram reorder_extents; /* datagrams, of each reordered one (RFC 4737 section 4.2) */
    struct pl_histogram late_times_ns;   /* of each reordered one (RFC 4737 section 4.3) */
    struct pl_histogram n_reordering;    /* the highest n for which a reordered one is n-reordered; 0: none */
    struct pl_density_counts densities;
};

/* Adds the counts of `from` to `into`. */
void pl_reordering_add(struct pl_reordering *into, const struct pl_reordering *from);

/* An object under `key`: [[low, high, count]...] of each histogram, both ends included, without empty
 * places; the two densities. */
void pl_reordering_write(const struct pl_reordering *reordering, struct pl_json *j, const char *key);
