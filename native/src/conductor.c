#include "conductor.h"

#include <stdio.h>
#include <string.h>

bool pl_conductor_open(struct pl_conductor *conductor, struct pl_error *error)
{
    conductor->written = true;
    conductor->drain_deadline_ns = PL_NEVER;
    conductor->events = pl_events_open(conductor->flow.control, error);
    if (conductor->events != NULL)
        conductor->streams = pl_streams_create((uint32_t)conductor->flow.streams, error);
    return conductor->streams != NULL;
}

bool pl_conductor_start_workers(struct pl_conductor *conductor, bool sending, struct pl_error *error)
{
    conductor->pool = pl_pool_start(&conductor->flow, sending, conductor->streams, error);
    if (conductor->pool != NULL)
        conductor->trial = pl_trial_create(&conductor->flow, conductor->streams, conductor->pool, error);
    return conductor->trial != NULL;
}

void pl_conductor_close(struct pl_conductor *conductor)
{
    pl_trial_free(conductor->trial);
    pl_pool_free(conductor->pool);
    pl_streams_free(conductor->streams, (uint32_t)conductor->flow.streams);
    pl_events_close(conductor->events);
}

pl_ns pl_conductor_deadline_ns(const struct pl_conductor *conductor)
{
    pl_ns next_ns = pl_trial_next_ns(conductor->trial);
    return next_ns < conductor->drain_deadline_ns ? next_ns : conductor->drain_deadline_ns;
}

static void enter_drain(struct pl_conductor *conductor)
{
    conductor->drain_deadline_ns = pl_now_ns() + conductor->flow.drain_timeout_ns;
}

bool pl_conductor_tick(struct pl_conductor *conductor)
{
    pl_ns now_ns = pl_now_ns();
    bool draining = pl_trial_started(conductor->trial) && pl_trial_phase(conductor->trial) == PL_DRAIN;
    if (now_ns >= pl_trial_next_ns(conductor->trial))
        conductor->written = pl_trial_sample(conductor->trial) && conductor->written;
    if (now_ns >= conductor->drain_deadline_ns)
        conductor->reason = "the streams did not end within --drain-timeout-ns";
    if (draining || !pl_trial_started(conductor->trial) || pl_trial_phase(conductor->trial) != PL_DRAIN)
        return false;
    enter_drain(conductor);
    return true;
}

void pl_conductor_begin_drain(struct pl_conductor *conductor)
{
    if (pl_trial_phase(conductor->trial) == PL_DRAIN)
        return;
    conductor->written = pl_trial_cut(conductor->trial) && conductor->written;
    enter_drain(conductor);
}

bool pl_conductor_hear_pool(struct pl_conductor *conductor)
{
    pl_pool_settle_wake(conductor->pool);
    int64_t failed = pl_pool_failed_stream(conductor->pool);
    if (failed >= 0 && conductor->reason == NULL) {
        const struct pl_stream *stream = &conductor->streams[failed];
        (void)snprintf(conductor->reason_text, sizeof conductor->reason_text,
                       "stream %lld: the peer ended it: %s", (long long)failed,
                       strerror(atomic_load(&stream->failure)));
        conductor->reason = conductor->reason_text;
    }
    return pl_pool_closed(conductor->pool) == (uint32_t)conductor->flow.streams;
}

int pl_conductor_finish(struct pl_conductor *conductor, int64_t rejected)
{
    const struct pl_ending ending = {.reason = conductor->reason, .rejected = rejected};
    if (!pl_trial_finish(conductor->trial, &ending) || !conductor->written)
        return PL_RESOURCES;
    if (conductor->reason == NULL)
        return PL_OK;
    (void)fprintf(stderr, "pathlab-engine: ended early: %s\n", conductor->reason);
    return PL_ENDED;
}

void pl_conductor_early_end(enum pl_command command, const char *stage, struct pl_error *error)
{
    pl_error_set(error, PL_ENDED, stage, 0, "%s before every stream was connected",
                 pl_command_reason(command));
}
