/* What is counted in one trial: per stream and phase, sampled at the boundaries of the time line. */
#ifndef PL_ACCOUNT_H
#define PL_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "flow/flow.h"
#include "flow/phases.h"
#include "flow/pool.h"
#include "flow/stream.h"
#include "flow/tcp_info.h"

/* The bytes of one direction, one number per stream each. */
struct pl_tally {
    uint64_t *now;    /* at the last sample */
    uint64_t *before; /* at the sample before */
    uint64_t *phases[PL_PHASE_COUNT];
};

/* Of one stream's steady window: what its effective window is taken from. */
struct pl_window_account {
    uint64_t acked_first; /* bytes acknowledged at the start of the window */
    uint64_t acked_last;
    pl_ns first_ns;
    pl_ns last_ns;
    double rtt_sum_us;
    uint64_t rtt_count;
};

/* Readable by those who write records; changed by the functions below alone. */
struct pl_account {
    const struct pl_flow *flow;
    struct pl_stream *streams;
    struct pl_pool *pool;
    uint32_t count;
    uint32_t workers;
    bool started;
    pl_ns start_ns;
    struct pl_phases phases;
    struct pl_interval interval; /* closed last */
    struct pl_tally sent;
    struct pl_tally received;
    struct pl_tcp_info *tcp_info;         /* per stream, at the last sample */
    struct pl_tcp_info_raw *tcp_info_raw; /* NULL unless asked for */
    struct pl_window_account *windows;
    int64_t *missing_bytes; /* per stream: sent, but not received by the peer; -1: not known */
    uint32_t reset_streams; /* ended by a reset, of this end or the peer */
    struct pl_worker_use *use, *use_before; /* per worker */
};

/* Borrows all three, which must outlive it. NULL with `error` set when memory ran out. */
struct pl_account *pl_account_create(const struct pl_flow *flow, struct pl_stream *streams,
                                     struct pl_pool *pool, struct pl_error *error);
void pl_account_free(struct pl_account *account);

/* Begins the time line; `start_ns` is on pl_now_ns()'s clock. */
void pl_account_start(struct pl_account *account, pl_ns start_ns);
/* Samples every counter now and closes the open interval. */
void pl_account_close_interval(struct pl_account *account);
/* Samples without an interval: of a trial that never started. */
void pl_account_sample(struct pl_account *account);

/* Notes what the peer has not received, and with `resets` resets the streams that are still open. The workers
 * must have ended. */
void pl_account_settle_delivery(struct pl_account *account, bool resets);

/* What carries the streams: TCP as soon as one of MPTCP's has fallen back to it. */
enum pl_transport pl_account_transport(const struct pl_account *account);
/* The bytes that this end speaks of: what it received, or, of an end that only sends, what the kernel took.
 */
const struct pl_tally *pl_account_main(const struct pl_account *account);
/* Goodput times RTT of one stream's steady window in bytes; -1 where the kernel does not tell. */
int64_t pl_account_effective_window(const struct pl_account *account, uint32_t stream);
/* A field of TCP_INFO summed over the streams; false when no stream has it. */
bool pl_account_sum(const struct pl_account *account, const char *field, uint64_t *sum);

#endif
