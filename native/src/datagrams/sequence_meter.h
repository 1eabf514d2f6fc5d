/* What one stream of numbered datagrams lost, duplicated and reordered, and its jitter. Pure, without
 * sockets.
 *
 * Constant memory: about 27 KB, of which 25 KB are touched only where numbers are missing. Numbers have 64
 * bits and do not wrap; those of PL_SEQUENCE_NUMBER_END and above do not exist. A duplicate is distinguished
 * from a late datagram among the latest PL_SEQUENCE_WINDOW numbers; an older one, or one below the first, is
 * counted as unclassified and stays lost.
 *
 * The measured window belongs to the sender: each datagram states whether it was sent in it, whenever it
 * arrives. The numbers of the window have no gaps, and the sender states the first and the last. Reordered is
 * relative to all arrivals, also those outside of the window.
 *
 * Sources: RFC 4737 sections 3.3 (reordered; of copies only the first arrival counts), 4.2 (extent), 4.3
 * (late time), 5.4 (n-reordering); RFC 3550 appendix A.8 (jitter).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "datagrams/reordering.h"

enum { PL_SEQUENCE_WINDOW = 4096 };

#define PL_SEQUENCE_NUMBER_END (UINT64_C(1) << 63)

struct pl_sequence_meter;

struct pl_meter_settings {
    struct pl_reordering *reordering; /* borrowed; may be that of other meters of the same thread */
    uint64_t first_sequence;          /* the first number that is sent, inside the window or not */
};

struct pl_sequence_counts {
    uint64_t received; /* unique */
    uint64_t lost;     /* so far: numbers below the highest that did not arrive */
    uint64_t duplicates;
    uint64_t reordered; /* of the received ones */
    uint64_t unclassified;
    pl_ns jitter_ns; /* after the latest arrival; -1 before the second */
};

/* The caller owns the result and calls pl_sequence_meter_free(). NULL when memory ran out. */
struct pl_sequence_meter *pl_sequence_meter_create(const struct pl_meter_settings *settings,
                                                   struct pl_error *error);
void pl_sequence_meter_free(struct pl_sequence_meter *meter);

/* One arrival. `sent_ns` is the sender's time as the datagram states it, `arrived_ns` any clock of ours;
 * `measured`: it was sent in the measured window. */
void pl_sequence_meter_add(struct pl_sequence_meter *meter, uint64_t sequence, pl_ns sent_ns,
                           pl_ns arrived_ns, bool measured);

/* All that has arrived since the beginning. */
struct pl_sequence_counts pl_sequence_meter_totals(const struct pl_sequence_meter *meter);

/* The counts of the measured window, whose numbers are first..last as the sender states them (last is first -
 * 1, modulo 2^64, when it sent none); lost is exact. Completes the histograms: once, when nothing more is
 * expected. */
struct pl_sequence_counts pl_sequence_meter_close_window(struct pl_sequence_meter *meter, uint64_t first,
                                                         uint64_t last);

/* The counts of the measured window so far; `lost` is 0 until it is closed. */
struct pl_sequence_counts pl_sequence_meter_counts(const struct pl_sequence_meter *meter);
