/* The flow counters of one trial: per stream and phase, sampled at the boundaries of the time line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "flow/byte_counters.h"
#include "flow/flow.h"
#include "flow/phases.h"
#include "flow/pool.h"
#include "flow/stream.h"
#include "flow/subflows.h"
#include "flow/tcp_info.h"

/* Samples of one stream's steady window, from which its effective window follows. */
struct pl_window_samples {
    uint64_t acked_first; /* bytes acknowledged at the start of the window */
    uint64_t acked_last;
    pl_ns first_ns;
    pl_ns last_ns;
    double rtt_sum_us;
    uint64_t rtt_count;
};

struct pl_flow_kind;

/* Records and display read it; only the functions below change it. */
struct pl_counters {
    const struct pl_flow *flow;
    const struct pl_flow_kind *kind;
    struct pl_stream *streams;
    struct pl_pool *pool;
    uint32_t count;
    uint32_t workers;
    bool started;
    pl_ns start_ns;
    struct pl_phases phases;
    struct pl_interval interval; /* the latest closed one */
    pl_ns late_ns;               /* in the open interval: how late the main thread ran at most */
    pl_ns interval_late_ns;      /* in the latest closed one */
    struct pl_byte_counters sent;
    struct pl_byte_counters received;
    void *samples;                        /* what the kind counts; NULL: bytes alone */
    struct pl_tcp_info *tcp_info;         /* per stream, at the last sample */
    struct pl_tcp_info_raw *tcp_info_raw; /* NULL unless asked for */
    struct pl_subflows *subflows;         /* per stream, at the last sample; NULL without MPTCP */
    struct pl_window_samples *windows;
    int64_t *missing_bytes; /* per stream: sent but not received by the peer; -1: unknown */
    uint32_t reset_streams; /* streams that either end reset */
    struct pl_worker_usage *usage, *previous_usage; /* per worker */
};

/* Borrows all three, which must outlive it. NULL with `error` set when memory ran out. */
struct pl_counters *pl_counters_create(const struct pl_flow *flow, struct pl_stream *streams,
                                       struct pl_pool *pool, struct pl_error *error);
void pl_counters_free(struct pl_counters *counters);

/* Begins the time line; `start_ns` is on pl_now_ns()'s clock. */
void pl_counters_start(struct pl_counters *counters, pl_ns start_ns);
/* Samples every counter now and closes the open interval. */
void pl_counters_close_interval(struct pl_counters *counters);
/* Samples without an interval, for a trial that never started. */
void pl_counters_sample(struct pl_counters *counters);

/* Determines the undelivered bytes, and with `resets` resets the streams that are still open. The workers
 * must have ended. */
void pl_counters_close_delivery(struct pl_counters *counters, bool resets);

/* The transport in use: TCP when any MPTCP stream has fallen back to it. */
enum pl_transport pl_counters_transport(const struct pl_counters *counters);
/* The counters that records state as `bytes`: received, or, at an end that only sends, taken by the kernel.
 */
const struct pl_byte_counters *pl_counters_reported(const struct pl_counters *counters);
/* Goodput times RTT of one stream's steady window in bytes; -1 where the kernel does not report them. */
int64_t pl_counters_effective_window(const struct pl_counters *counters, uint32_t stream);
/* A field of TCP_INFO summed over the streams; false when no stream has it. */
bool pl_counters_sum(const struct pl_counters *counters, const char *field, uint64_t *sum);

/* Finds numbers of one stream, which belong to a phase or to none; a negative one is not known. */
typedef void pl_find_numbers(const struct pl_counters *counters, uint32_t stream, int phase,
                             int64_t *numbers);

enum { PL_NUMBERS_MAX = 8 };

/* An array for each of the first `count` numbers: of all streams, null where it is not known. */
void pl_counters_write(struct pl_json *j, const struct pl_counters *counters, const char *const *names,
                       size_t count, pl_find_numbers *find, int phase);
