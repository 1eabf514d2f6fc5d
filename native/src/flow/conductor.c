#include "flow/conductor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "flow/sockopts.h"

/* What may be missing at the end of the steady window before the trial counts as cut short: a part of it, and
 * at least what two clocks' wake-ups may differ by. */
#define SHORTFALL_RATIO 0.01
#define SHORTFALL_NS (50 * PL_NS_PER_MS)
/* How long after the stop a peer may be silent before it counts as gone, where --drain-timeout-ns is less: it
 * may be less than a round trip. Until then one looks again so often. */
#define SILENCE_NS (2 * PL_NS_PER_S)
#define LOOK_NS (20 * PL_NS_PER_MS)
/* While a trial runs, strangers are served in turns of at most 64 (see greeting.c), and not again before this
 * many times the time that the last turn took: so a flood of them costs the trial at most one part in a
 * hundred of one core. The kernel turns away what does not fit its queue. */
#define DOOR_PAUSE_FACTOR 100

bool pl_conductor_open(struct pl_conductor *conductor, struct pl_error *error)
{
    conductor->written = true;
    conductor->drain_deadline_ns = PL_NEVER;
    conductor->limit_ns =
        conductor->flow.time_limit_ns > 0 ? pl_now_ns() + conductor->flow.time_limit_ns : PL_NEVER;
    conductor->stream_count =
        conductor->flow.streams > 0 ? (uint32_t)conductor->flow.streams : PL_MAX_STREAMS;
    conductor->streams = pl_streams_create(conductor->stream_count, error);
    return conductor->streams != NULL;
}

void pl_conductor_close(struct pl_conductor *conductor)
{
    pl_trial_free(conductor->trial);
    pl_pool_free(conductor->pool);
    pl_streams_free(conductor->streams, conductor->stream_count);
}

static int64_t rejected(const struct pl_conductor *conductor)
{
    return conductor->door != NULL ? (int64_t)pl_door_rejected(conductor->door) : -1;
}

bool pl_conductor_prepare(struct pl_conductor *conductor, struct pl_error *error)
{
    struct pl_socket_facts facts;
    pl_read_socket_facts(conductor->streams[0].fd, &facts);
    pl_flow_fit_segments(&conductor->flow, facts.mss_bytes);
    conductor->pool = pl_pool_start(&conductor->flow, conductor->streams, error);
    if (conductor->pool != NULL)
        conductor->trial = pl_trial_create(&conductor->flow, conductor->streams, conductor->pool, error);
    if (conductor->trial == NULL)
        return false;
    conductor->written = pl_trial_ready(conductor->trial, rejected(conductor));
    return true;
}

static pl_ns earlier(pl_ns a, pl_ns b)
{
    return a < b ? a : b;
}

static void hold_windows(const struct pl_conductor *conductor)
{
    for (int64_t i = 0;
         conductor->flow.window_bytes > 0 && conductor->flow.receives && i < conductor->flow.streams; i++)
        pl_hold_window(conductor->streams[i].fd, conductor->flow.held_window_bytes);
}

/* No more is sent from here; what is under way may take the time of the drain. */
static void enter_drain(struct pl_conductor *conductor)
{
    pl_ns now_ns = pl_now_ns();
    conductor->drain_deadline_ns = now_ns + conductor->flow.drain_timeout_ns;
    conductor->silence_ns = now_ns + SILENCE_NS;
    conductor->drain_progress = pl_trial_progress(conductor->trial);
    if (conductor->flow.transmits)
        pl_pool_shut(conductor->pool);
}

static void begin_drain(struct pl_conductor *conductor)
{
    if (pl_trial_phase(conductor->trial) == PL_DRAIN)
        return;
    conductor->written = pl_trial_cut(conductor->trial) && conductor->written;
    enter_drain(conductor);
}

/* The time of the drain is up. A flow by time has then measured what it was to measure, and what is still
 * under way is given up; unless nothing at all has got through since the stop, which is no slow path but a
 * peer or a path that is gone. A flow by bytes was to deliver them all. */
static void end_drain(struct pl_conductor *conductor, pl_ns now_ns)
{
    /* Modulo 2^64; an end of file that went out since counts as one byte that has not got through. */
    int64_t progress = (int64_t)(pl_trial_progress(conductor->trial) - conductor->drain_progress);
    if (conductor->flow.bytes == 0 && progress <= 0) {
        if (now_ns < conductor->silence_ns) {
            conductor->drain_deadline_ns = earlier(now_ns + LOOK_NS, conductor->silence_ns);
            return;
        }
        conductor->reason = "nothing came from the peer or reached it within --drain-timeout-ns of the stop";
    } else if (conductor->flow.bytes > 0) {
        conductor->reason = "the streams did not end within --drain-timeout-ns";
    }
    conductor->cut = true;
}

/* Takes the sample that is due, and goes by the deadlines that have passed. */
static void tick(struct pl_conductor *conductor)
{
    pl_ns now_ns = pl_now_ns();
    bool draining = pl_trial_started(conductor->trial) && pl_trial_phase(conductor->trial) == PL_DRAIN;
    if (now_ns >= pl_trial_next_ns(conductor->trial)) {
        hold_windows(conductor);
        conductor->written = pl_trial_sample(conductor->trial) && conductor->written;
    }
    if (now_ns >= conductor->drain_deadline_ns)
        end_drain(conductor, now_ns);
    if (now_ns >= conductor->limit_ns)
        conductor->reason = "the limit of --time-limit-ns was reached";
    if (!draining && pl_trial_started(conductor->trial) && pl_trial_phase(conductor->trial) == PL_DRAIN)
        enter_drain(conductor);
}

/* Whether the flow is one by time and its steady window is not over yet. */
static bool is_premature(const struct pl_conductor *conductor)
{
    const struct pl_flow *flow = &conductor->flow;
    pl_ns missing_ns = conductor->start_ns + flow->warmup_ns + flow->duration_ns - pl_now_ns();
    return flow->bytes == 0 && missing_ns > SHORTFALL_NS &&
           (double)missing_ns > SHORTFALL_RATIO * (double)flow->duration_ns;
}

/* Whether a stream failed because the peer reset it when its time for the drain was up, which it does after
 * the steady window of a flow by time. */
static bool is_peers_cut(const struct pl_conductor *conductor, const struct pl_stream *stream)
{
    int failure = atomic_load(&stream->failure);
    return (failure == ECONNRESET || failure == EPIPE) && conductor->flow.bytes == 0 &&
           conductor->start_ns != 0 && !is_premature(conductor);
}

/* Reads the pool's news. True when every stream has ended. */
static bool hear_pool(struct pl_conductor *conductor)
{
    pl_pool_settle_wake(conductor->pool);
    int64_t failed = pl_pool_failed_stream(conductor->pool);
    const struct pl_stream *stream = failed >= 0 ? &conductor->streams[failed] : NULL;
    if (stream != NULL && conductor->reason == NULL && !is_peers_cut(conductor, stream)) {
        (void)snprintf(conductor->reason_text, sizeof conductor->reason_text,
                       "stream %lld: the peer ended it: %s", (long long)failed,
                       strerror(atomic_load(&stream->failure)));
        conductor->reason = conductor->reason_text;
    }
    return pl_pool_closed(conductor->pool) == (uint32_t)conductor->flow.streams;
}

static void take_command(struct pl_conductor *conductor, enum pl_command command)
{
    const struct pl_flow *flow = &conductor->flow;
    bool sends = flow->transmits && !flow->receives && !flow->accepting;
    if (command == PL_COMMAND_STOP && sends && pl_trial_started(conductor->trial)) {
        conductor->ending = pl_command_reason(command);
        begin_drain(conductor);
    } else if (pl_command_ends(command)) {
        conductor->reason = pl_command_reason(command);
    }
}

/* The limits and quotas of bytes that the workers met. */
static void heed_bytes(struct pl_conductor *conductor)
{
    if (pl_pool_capped(conductor->pool) && conductor->ending == NULL && conductor->reason == NULL) {
        static const char text[] = "the limit of --volume-limit-bytes was reached";
        if (conductor->flow.receives) {
            conductor->reason = text;
        } else {
            conductor->ending = text;
            begin_drain(conductor); /* wakes the workers that did not meet the limit themselves */
        }
    }
    if (conductor->flow.bytes > 0 && !conductor->flow.receives && pl_pool_exhausted(conductor->pool) &&
        pl_trial_started(conductor->trial))
        begin_drain(conductor);
}

/* Every stream has ended: whether that was before its time. */
static void judge_end(struct pl_conductor *conductor)
{
    const struct pl_flow *flow = &conductor->flow;
    if (conductor->reason != NULL || !flow->receives || conductor->ending != NULL)
        return;
    if (conductor->start_ns == 0)
        conductor->reason = "the sender ended before it sent anything";
    else if (flow->bytes > 0 && pl_trial_received_bytes(conductor->trial) < (uint64_t)flow->bytes)
        conductor->reason = "the sender ended before it had sent all bytes";
    else if (is_premature(conductor))
        conductor->reason = "the sender ended before the steady window was over";
}

static bool is_door_due(const struct pl_conductor *conductor)
{
    return conductor->door != NULL && pl_now_ns() >= conductor->door_due_ns;
}

static void serve_door(struct pl_conductor *conductor, struct pl_error *error)
{
    pl_ns begin_ns = pl_now_ns();
    if (!pl_door_serve(conductor->door, error))
        conductor->reason = error->text;
    pl_ns end_ns = pl_now_ns();
    conductor->door_due_ns = end_ns + DOOR_PAUSE_FACTOR * (end_ns - begin_ns);
}

/* Begins the time line, where it has a begin: 0 is none. */
static void start_trial(struct pl_conductor *conductor, pl_ns start_ns)
{
    conductor->start_ns = start_ns;
    if (start_ns != 0)
        conductor->written = pl_trial_start(conductor->trial, start_ns) && conductor->written;
}

static void begin(struct pl_conductor *conductor)
{
    hold_windows(conductor);
    pl_pool_run(conductor->pool);
    if (!conductor->flow.accepting)
        start_trial(conductor, pl_now_ns());
}

void pl_conductor_run(struct pl_conductor *conductor, struct pl_error *error)
{
    struct pl_wait wait = {.fds = {pl_pool_fd(conductor->pool), -1}};
    begin(conductor);
    while (conductor->written && conductor->reason == NULL && !conductor->cut) {
        wait.deadline_ns = earlier(earlier(pl_trial_next_ns(conductor->trial), conductor->drain_deadline_ns),
                                   conductor->limit_ns);
        wait.fds[1] = is_door_due(conductor) ? pl_door_fd(conductor->door) : -1;
        if (conductor->door != NULL)
            wait.deadline_ns =
                earlier(wait.deadline_ns,
                        wait.fds[1] >= 0 ? pl_door_deadline_ns(conductor->door) : conductor->door_due_ns);
        take_command(conductor, pl_events_wait(conductor->events, &wait));
        if (is_door_due(conductor) && (wait.ready[1] || pl_door_deadline_ns(conductor->door) <= pl_now_ns()))
            serve_door(conductor, error);
        bool ended = wait.ready[0] && hear_pool(conductor);
        if (conductor->start_ns == 0)
            start_trial(conductor, pl_pool_first_byte_ns(conductor->pool));
        tick(conductor);
        heed_bytes(conductor);
        if (ended) {
            judge_end(conductor);
            break;
        }
    }
    if (conductor->reason == NULL)
        conductor->reason = conductor->ending;
}

int pl_conductor_finish(struct pl_conductor *conductor)
{
    struct pl_ending ending = {
        .reason = conductor->reason, .rejected = rejected(conductor), .resets = conductor->cut};
    if (conductor->door != NULL)
        ending.rejected += pl_door_waiting(conductor->door);
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
