/* The counts of a flow of datagrams at the boundaries of its intervals. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flow/counters.h"
#include "flow/flow.h"

enum pl_datagram_field {
    PL_DATAGRAMS_SENT,
    PL_DATAGRAMS_REFUSED,
    PL_DATAGRAMS_GIVEN_UP,
    PL_DATAGRAMS_RECEIVED, /* different ones */
    PL_DATAGRAMS_LOST,     /* passed over, and not come since: an interval's step can be negative */
    PL_DATAGRAMS_DUPLICATE,
    PL_DATAGRAMS_REORDERED,
    PL_DATAGRAMS_DROPPED, /* by the receiving socket */
    PL_DATAGRAM_FIELDS
};

/* Each array has one number per stream. */
struct pl_datagram_samples {
    uint64_t *values; /* of all arrays of counts */
    uint64_t *current[PL_DATAGRAM_FIELDS];
    uint64_t *previous[PL_DATAGRAM_FIELDS];
    uint64_t *drops_before; /* of the receiving socket before the steady window */
    int64_t *jitter_ns;     /* -1: unknown */
    bool drops_known;       /* the kernel reports them */
};

/* The functions of struct pl_kind_counts; `samples` is a struct pl_datagram_samples. */
void *pl_datagram_samples_create(const struct pl_flow *flow);
void pl_datagram_samples_free(void *samples);
void pl_datagram_samples_take(void *samples, const struct pl_counters *counters);
void pl_datagram_samples_close_interval(void *samples, const struct pl_counters *counters,
                                        enum pl_phase phase, bool enters);

/* Datagrams that the receiving sockets dropped since the steady window began; -1: the kernel does not report
 * it. */
int64_t pl_datagram_samples_dropped(const struct pl_datagram_samples *samples, uint32_t count);
