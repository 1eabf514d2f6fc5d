#include "messages/message_pace.h"

#include <errno.h>

#include "messages/roles.h"

struct pl_pace pl_pace_begin(const struct pl_worker *worker)
{
    const struct pl_shared *shared = worker->shared;
    pl_ns start_ns = atomic_load(&shared->run_ns);
    return (struct pl_pace){.schedule = {.start_ns = start_ns,
                                         .rate_per_s = shared->messages->rate_per_s,
                                         .messages = shared->streams},
                            .end_ns = start_ns + shared->offered_ns};
}

/* Adds a message for every stream, and sends the batches that are full or too old. */
static bool send_round(struct pl_worker *worker, pl_ns now_ns, int *cause, uint32_t *failed)
{
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_batch *batch = &worker->streams[i]->endpoint->batch;
        pl_batch_add(batch, now_ns);
        if (!pl_batch_is_full(batch) && now_ns < pl_batch_deadline_ns(batch))
            continue;
        *cause = pl_role_send_batch(worker, worker->streams[i]);
        *failed = i;
        if (*cause != 0)
            return false;
    }
    return true;
}

/* No further message is due: sends what has waited for the minimum delay. Returns when the next batch has. */
static pl_ns send_waiting(struct pl_worker *worker, pl_ns now_ns, int *cause, uint32_t *failed)
{
    pl_ns next_ns = PL_NEVER;
    for (uint32_t i = 0; i < worker->count && *cause == 0; i++) {
        struct pl_batch *batch = &worker->streams[i]->endpoint->batch;
        if (batch->messages == 0)
            continue;
        pl_ns due_ns = pl_earlier(pl_batch_earliest_ns(batch), pl_batch_deadline_ns(batch));
        if (now_ns < due_ns) {
            next_ns = pl_earlier(next_ns, due_ns);
            continue;
        }
        *cause = pl_role_send_batch(worker, worker->streams[i]);
        *failed = i;
    }
    return next_ns;
}

pl_ns pl_pace_step(struct pl_pace *pace, struct pl_worker *worker, pl_ns now_ns, uint64_t most, int *cause,
                   uint32_t *failed)
{
    pl_ns due_ns = pl_schedule_due_ns(&pace->schedule, pace->round);
    *cause = 0;
    for (; due_ns <= now_ns && due_ns < pace->end_ns && most > 0 && pl_role_sends(worker); most--) {
        pl_histogram_add(&worker->streams[0]->endpoint->send_lateness, now_ns - due_ns);
        if (!send_round(worker, now_ns, cause, failed))
            return PL_NEVER;
        due_ns = pl_schedule_due_ns(&pace->schedule, ++pace->round);
        now_ns = pl_now_ns();
        pl_role_tick(worker, now_ns);
    }
    due_ns = due_ns < pace->end_ns ? due_ns : PL_NEVER;
    if (due_ns <= now_ns)
        return due_ns;
    return pl_earlier(due_ns, send_waiting(worker, now_ns, cause, failed));
}

/* What was due while the worker sent, and is left because it was late. */
static int send_left(struct pl_pace *pace, struct pl_worker *worker, uint32_t *failed)
{
    pl_ns until_ns = pl_earlier(pl_now_ns(), pace->end_ns);
    pl_ns due_ns = pl_schedule_due_ns(&pace->schedule, pace->round);
    int cause = 0;
    if (!pl_may_catch_up(pace->end_ns - pace->schedule.start_ns, until_ns - due_ns) ||
        atomic_load(&worker->shared->capped))
        return 0;
    for (; due_ns < until_ns && cause == 0; due_ns = pl_schedule_due_ns(&pace->schedule, ++pace->round)) {
        pl_ns now_ns = pl_now_ns();
        pl_histogram_add(&worker->streams[0]->endpoint->send_lateness, now_ns - due_ns);
        (void)send_round(worker, now_ns, &cause, failed);
        pl_role_tick(worker, now_ns);
    }
    return cause;
}

static int flush(struct pl_worker *worker, uint32_t *failed)
{
    int cause = 0;
    for (uint32_t i = 0; i < worker->count && cause == 0; i++) {
        *failed = i;
        if (worker->streams[i]->endpoint->batch.messages > 0)
            cause = pl_role_send_batch(worker, worker->streams[i]);
    }
    return cause;
}

int pl_pace_finish(struct pl_pace *pace, struct pl_worker *worker, int cause, uint32_t *failed)
{
    /* The limit of bytes ends the sending like the end of the steady window. */
    if (cause == ECANCELED && !pl_role_is_over(worker))
        cause = 0;
    if (cause == 0)
        cause = send_left(pace, worker, failed);
    if (cause == 0)
        cause = flush(worker, failed);
    return cause == ECANCELED && !pl_role_is_over(worker) ? 0 : cause;
}
