/* What the main threads of `send` and `receive` share once every stream is there: one running trial. */
#ifndef PL_CONDUCTOR_H
#define PL_CONDUCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/events.h"
#include "flow/flow.h"
#include "flow/greeting.h"
#include "flow/pool.h"
#include "flow/stream.h"
#include "flow/trial.h"

/* Everything of one end of a flow. Zero-initialise, fill flow, then pl_conductor_open(). */
struct pl_conductor {
    struct pl_flow flow;
    struct pl_events *events; /* borrowed */
    struct pl_door *door;     /* borrowed; NULL at the connecting side */
    struct pl_stream *streams;
    uint32_t stream_count;
    struct pl_pool *pool;
    struct pl_trial *trial;
    pl_ns start_ns; /* 0: the trial has not begun */
    pl_ns drain_deadline_ns;
    pl_ns silence_ns;        /* when a peer of which nothing came since the stop counts as gone */
    uint64_t drain_progress; /* pl_trial_progress() at the stop */
    bool cut;                /* the time of the drain was up: streams that are still open are reset */
    pl_ns limit_ns;          /* of --max-ns */
    pl_ns door_due_ns;       /* strangers are not served before */
    const char *ending;      /* why it drains before its time; NULL: it does not */
    const char *reason;      /* why it ends early; NULL: it does not */
    char reason_text[160];
    bool written; /* false once the output is gone */
};

/* Makes the streams, as many as the flow has or may have; false with `error` set. Call pl_conductor_close()
 * in either case. */
bool pl_conductor_open(struct pl_conductor *conductor, struct pl_error *error);
void pl_conductor_close(struct pl_conductor *conductor);

/* Starts the workers, which wait, makes the trial and says that this end is ready. False with `error` set. */
bool pl_conductor_prepare(struct pl_conductor *conductor, struct pl_error *error);
/* Carries the trial out: at the connecting side at once, else from the peer's first byte on. */
void pl_conductor_run(struct pl_conductor *conductor, struct pl_error *error);
/* Writes the result; returns the exit status. */
int pl_conductor_finish(struct pl_conductor *conductor);

/* An error before the trial: what a command that ends the run means then. */
void pl_conductor_early_end(enum pl_command command, const char *stage, struct pl_error *error);

#endif
