/* What the main threads of `send` and `receive` share once every stream is there: one running trial. */
#ifndef PL_CONDUCTOR_H
#define PL_CONDUCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "clock.h"
#include "error.h"
#include "events.h"
#include "flow.h"
#include "pool.h"
#include "stream.h"
#include "trial.h"

/* Everything of one end of a flow. Zero-initialise, fill flow, then pl_conductor_open(). */
struct pl_conductor {
    struct pl_flow flow;
    struct pl_events *events;
    struct pl_stream *streams;
    struct pl_pool *pool;
    struct pl_trial *trial;
    pl_ns drain_deadline_ns;
    const char *reason; /* why it ends early; NULL: it does not */
    char reason_text[160];
    bool written; /* false once the output is gone */
};

/* Opens events and streams; false with `error` set. Call pl_conductor_close() in either case. */
bool pl_conductor_open(struct pl_conductor *conductor, struct pl_error *error);
/* Starts the workers, which wait, and makes the trial. */
bool pl_conductor_start_workers(struct pl_conductor *conductor, bool sending, struct pl_error *error);
void pl_conductor_close(struct pl_conductor *conductor);

/* The earlier of the next sample and the end of the drain. */
pl_ns pl_conductor_deadline_ns(const struct pl_conductor *conductor);
/* Takes the sample that is due, if one is; sets `reason` when the drain has taken too long. True when the
 * trial has just entered its drain. */
bool pl_conductor_tick(struct pl_conductor *conductor);
/* Ends the steady window now and begins the drain. */
void pl_conductor_begin_drain(struct pl_conductor *conductor);
/* Reads the pool's news: sets `reason` when a stream failed. True when every stream has ended. */
bool pl_conductor_hear_pool(struct pl_conductor *conductor);

/* Writes the result; returns the exit status. `rejected` -1: not a receiver. */
int pl_conductor_finish(struct pl_conductor *conductor, int64_t rejected);

/* An error before the trial: what a command that ends the run means then. */
void pl_conductor_early_end(enum pl_command command, const char *stage, struct pl_error *error);

#endif
