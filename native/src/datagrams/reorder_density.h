/* Reorder density (RD) and reorder buffer-occupancy density (RBD) of one stream, RFC 5236 sections 3 to 6.
 *
 * RD counts by how many places each datagram is early (negative) or late (positive): its receive index, which
 * skips lost numbers, less its number. A number is lost when it is not among the next PL_DISPLACEMENT_MAX + 1
 * arrivals. RBD counts, at each arrival, how many datagrams wait for an earlier number; with
 * PL_OCCUPANCY_MAX of them waiting, that number is lost. What arrives for a lost number, and what is early
 * beyond the threshold, is counted as beyond and is in no density.
 *
 * Constant memory. Arrivals in order cost nothing: they are counted as ranges when disorder begins.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* The thresholds DT and BT, in datagrams. */
enum { PL_DISPLACEMENT_MAX = 32, PL_OCCUPANCY_MAX = 32 };

/* Zero-initialise. Datagrams of the measured window only. */
struct pl_density_counts {
    uint64_t displacements[2 * PL_DISPLACEMENT_MAX + 1]; /* from -PL_DISPLACEMENT_MAX on */
    uint64_t occupancies[PL_OCCUPANCY_MAX + 1];
    uint64_t displaced_beyond;
    uint64_t occupied_beyond;
};

/* The numbers of the measured window that have arrived: none while `low` > `high`. */
struct pl_number_range {
    uint64_t low;
    uint64_t high;
};

struct pl_reorder_density {
    bool disordered; /* else all of [index_from, next expected number) arrived in order */
    uint64_t index_from;
    uint64_t occupancy_from;
    uint64_t index; /* the receive index that is assigned next */
    uint64_t window[PL_DISPLACEMENT_MAX + 1];
    unsigned window_first;
    unsigned window_count;
    unsigned consecutive; /* arrivals at the window's end, each one above the former */
    uint64_t early[PL_DISPLACEMENT_MAX];
    unsigned early_count;
    uint64_t expected;
    uint64_t held[PL_OCCUPANCY_MAX];
    unsigned held_count;
};

void pl_reorder_density_begin(struct pl_reorder_density *density, uint64_t first_number);

/* One first arrival, unless `density` is in order and `number` is `next`, the next expected number before
 * this arrival. `measured`: it belongs to the measured window. */
void pl_reorder_density_add(struct pl_reorder_density *density, uint64_t number, uint64_t next, bool measured,
                            const struct pl_number_range *range, struct pl_density_counts *counts);

/* No more arrivals: counts what is still in the window. */
void pl_reorder_density_finish(struct pl_reorder_density *density, uint64_t next,
                               const struct pl_number_range *range, struct pl_density_counts *counts);

void pl_density_counts_add(struct pl_density_counts *into, const struct pl_density_counts *from);

/* Members "reorder_density" [[displacement, count]...], "buffer_density" [[occupancy, count]...] without
 * zeros, and the counts beyond both thresholds. */
void pl_density_counts_write(const struct pl_density_counts *counts, struct pl_json *j);
