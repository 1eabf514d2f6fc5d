/* The flow session: one trial from connected streams to its result, run by the main thread of `send` or
 * `receive`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/events.h"
#include "flow/acceptor.h"
#include "flow/flow.h"
#include "flow/flow_kind.h"
#include "flow/pool.h"
#include "flow/stream.h"
#include "flow/trial.h"

/* Everything of one end of a flow. Zero-initialise, fill flow, then pl_session_open(). */
struct pl_session {
    struct pl_flow flow;
    struct pl_events *events;     /* borrowed */
    struct pl_acceptor *acceptor; /* borrowed; NULL at the connecting side */
    struct pl_stream *streams;
    uint32_t stream_count;
    const struct pl_flow_kind *kind; /* from pl_session_prepare() on */
    void *carriers;                  /* what its open() returned */
    struct pl_pool *pool;
    struct pl_trial trial;
    pl_ns earliest_ns; /* no sender begins before; 0: not yet known */
    pl_ns start_ns;    /* of the time line; 0: not started */
    pl_ns awake_ns;    /* when the main thread last woke */
    pl_ns drain_deadline_ns;
    pl_ns dead_peer_ns;       /* deadline for any sign of the peer after the stop */
    uint64_t drain_progress;  /* pl_trial_progress() at the stop */
    bool drain_expired;       /* the drain time is over: streams that are still open are reset */
    pl_ns limit_ns;           /* of --time-limit-ns */
    pl_ns idle_since_ns;      /* when progress was seen last */
    pl_ns idle_check_ns;      /* when it is looked for next */
    uint64_t idle_progress;   /* pl_trial_progress() then */
    pl_ns acceptor_due_ns;    /* unauthenticated peers are not served before */
    const char *drain_reason; /* why it drains early; NULL: it does not */
    const char *reason;       /* why it ends early; NULL: it does not */
    char reason_text[160];
    bool written; /* false once the output is gone */
};

/* Creates the streams, or the maximum number where the flow's is unknown; false with `error` set. Call
 * pl_session_close() in either case. */
bool pl_session_open(struct pl_session *session, struct pl_error *error);
void pl_session_close(struct pl_session *session);

/* Starts the workers, which wait, creates the trial and writes the ready record. False with `error` set. */
bool pl_session_prepare(struct pl_session *session, struct pl_error *error);
/* Runs the trial: at the connecting side at once, else from the peer's first byte. */
void pl_session_run(struct pl_session *session, struct pl_error *error);
/* Writes the result; returns the exit status. */
int pl_session_finish(struct pl_session *session);

/* Sets the error for a command that ends the run before the trial; false. */
bool pl_session_early_end(enum pl_command command, const char *stage, struct pl_error *error);
