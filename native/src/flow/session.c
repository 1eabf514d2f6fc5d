#include "flow/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "flow/sockopts.h"
#include "messages/breach.h"

/* How much earlier than planned the steady window may end before the trial counts as incomplete: a share of
 * it, and at least the difference between the two ends' wake-ups. */
#define SHORTFALL_RATIO 0.01
#define SHORTFALL_NS (50 * PL_NS_PER_MS)
/* A busy machine may read the peer's first byte so late. This end's window, which begins then, may be cut
 * short by as much. */
#define LATE_START_NS PL_NS_PER_S
/* A peer counts as gone after this time of silence since the stop, even where --drain-timeout-ns is shorter,
 * since that may be less than a round trip. Until then progress is checked at this interval. */
#define DEAD_PEER_NS (2 * PL_NS_PER_S)
#define RECHECK_NS (20 * PL_NS_PER_MS)
/* The main thread wakes at least this often, so that a time in which this program did not run is seen. */
#define HEARTBEAT_NS (50 * PL_NS_PER_MS)
/* Progress is looked for so many times in an idle time-out: each time costs a system call for each stream. */
#define IDLE_CHECKS 10
/* During a trial, unauthenticated peers are served in turns of at most 64 (acceptor.c), with a pause of this
 * many times the CPU time of the latest turn: a flood costs the trial at most one hundredth of a core. The
 * kernel drops what exceeds its queue. */
#define ACCEPTOR_PAUSE_FACTOR 100

bool pl_session_open(struct pl_session *session, struct pl_error *error)
{
    session->written = true;
    session->drain_deadline_ns = PL_NEVER;
    session->limit_ns =
        session->flow.time_limit_ns > 0 ? pl_now_ns() + session->flow.time_limit_ns : PL_NEVER;
    session->stream_count = session->flow.streams > 0 ? (uint32_t)session->flow.streams : PL_MAX_STREAMS;
    session->streams = pl_streams_create(session->stream_count, error);
    return session->streams != NULL;
}

void pl_session_close(struct pl_session *session)
{
    pl_trial_close(&session->trial);
    pl_pool_free(session->pool);
    if (session->carriers != NULL)
        session->kind->close(session->carriers, &session->flow);
    pl_streams_free(session->streams, session->stream_count);
}

static int64_t rejected(const struct pl_session *session)
{
    return session->acceptor != NULL ? (int64_t)pl_acceptor_state(session->acceptor).rejected : -1;
}

bool pl_session_prepare(struct pl_session *session, struct pl_error *error)
{
    struct pl_socket_facts facts;
    pl_read_socket_facts(session->streams[0].fd, &facts);
    session->kind = session->flow.kind;
    if (session->kind->by_streams)
        pl_flow_fit_segments(&session->flow, facts.mss_bytes);
    if (session->kind->open != NULL) {
        session->carriers = session->kind->open(&session->flow, session->streams, error);
        if (session->carriers == NULL)
            return false;
    }
    session->pool = pl_pool_start(&session->flow, session->streams, error);
    if (session->pool != NULL)
        session->trial.counters = pl_counters_create(&session->flow, session->streams, session->pool, error);
    if (session->trial.counters == NULL)
        return false;
    session->written = pl_trial_ready(&session->trial, rejected(session));
    return true;
}

static void hold_windows(const struct pl_session *session)
{
    for (int64_t i = 0; session->flow.window_bytes > 0 && session->flow.receives && i < session->flow.streams;
         i++)
        pl_hold_window(session->streams[i].fd, session->flow.held_window_bytes);
}

/* Stops sending; bytes in flight may take the drain time. */
static void enter_drain(struct pl_session *session)
{
    pl_ns now_ns = pl_now_ns();
    session->drain_deadline_ns = now_ns + session->flow.drain_timeout_ns;
    session->dead_peer_ns = now_ns + DEAD_PEER_NS;
    session->drain_progress = pl_trial_progress(&session->trial);
    if (session->flow.transmits)
        pl_pool_shut(session->pool);
}

static bool is_draining(const struct pl_session *session)
{
    return session->trial.counters->phases.current == PL_DRAIN;
}

static void begin_drain(struct pl_session *session)
{
    if (is_draining(session))
        return;
    session->written = pl_trial_cut(&session->trial) && session->written;
    enter_drain(session);
}

/* The drain time is over. A flow by time has completed its measurement and gives up the bytes in flight,
 * unless nothing at all was delivered since the stop: then the peer or the path is gone. A flow by bytes
 * fails, since it had to deliver them all. */
static void end_drain(struct pl_session *session, pl_ns now_ns)
{
    /* Modulo 2^64. A FIN sent since the stop counts as one undelivered byte. */
    int64_t progress = (int64_t)(pl_trial_progress(&session->trial) - session->drain_progress);
    if (session->flow.bytes == 0 && progress <= 0) {
        if (now_ns < session->dead_peer_ns) {
            session->drain_deadline_ns = pl_earlier(now_ns + RECHECK_NS, session->dead_peer_ns);
            return;
        }
        session->reason = "nothing was delivered in either direction within --drain-timeout-ns of the stop";
    } else if (session->flow.bytes > 0) {
        session->reason = "the streams did not end within --drain-timeout-ns";
    }
    session->drain_expired = true;
}

/* Takes the sample that is due and applies the deadlines that have passed. */
static void on_deadline(struct pl_session *session)
{
    pl_ns now_ns = pl_now_ns();
    bool draining = is_draining(session);
    if (now_ns >= pl_trial_next_ns(&session->trial)) {
        hold_windows(session);
        session->written = pl_trial_sample(&session->trial) && session->written;
    }
    if (now_ns >= session->drain_deadline_ns)
        end_drain(session, now_ns);
    if (now_ns >= session->limit_ns)
        session->reason = "the limit of --time-limit-ns was reached";
    if (!draining && is_draining(session))
        enter_drain(session);
}

/* Whether more than `allowed_ns`, and more than a share, is missing of a steady window whose trial began at
 * `start_ns`. */
static bool is_cut_short(const struct pl_flow *flow, pl_ns start_ns, pl_ns allowed_ns)
{
    pl_ns missing_ns = start_ns + flow->warmup_ns + flow->duration_ns - pl_now_ns();
    return missing_ns > allowed_ns && (double)missing_ns > SHORTFALL_RATIO * (double)flow->duration_ns;
}

/* Whether this is a flow by time whose steady window is not over yet. This end's window begins with the first
 * byte that it reads, so it may last longer than the sender's, which no sender begins before the last stream
 * is admitted. The first message may come later after it was due than the last one by any time (a batch). */
static bool is_premature(const struct pl_session *session)
{
    const struct pl_flow *flow = &session->flow;
    if (flow->bytes > 0)
        return false;
    return is_cut_short(flow, session->earliest_ns, SHORTFALL_NS) ||
           (!session->kind->one_role && is_cut_short(flow, session->start_ns, LATE_START_NS));
}

/* Whether a stream failed because the peer reset it at the end of its drain time, which follows the steady
 * window of a flow by time. */
static bool is_reset_after_window(const struct pl_session *session, const struct pl_stream *stream)
{
    int failure = atomic_load(&stream->failure);
    return (failure == ECONNRESET || failure == EPIPE) && session->flow.bytes == 0 &&
           session->start_ns != 0 && !is_premature(session);
}

/* Why a stream failed, as the reason of the trial's end. */
static void describe_failure(struct pl_session *session, int64_t stream, int failure)
{
    const struct pl_flow_kind *kind = session->kind;
    const char *breach = pl_breach_text(failure);
    char *text = session->reason_text;
    size_t bytes = sizeof session->reason_text;
    size_t used = (size_t)snprintf(text, bytes, "stream %lld: ", (long long)stream);
    if (breach != NULL)
        (void)snprintf(text + used, bytes - used, "the peer does not follow the protocol of %s: %s",
                       kind->protocol, breach);
    else if (kind->describe_failure == NULL ||
             !kind->describe_failure(&session->flow, &session->streams[stream], failure, text + used,
                                     bytes - used))
        (void)snprintf(text + used, bytes - used, "the peer ended it: %s", strerror(failure));
}

/* Reads the pool's state after a wake-up. True when every stream has ended. */
static bool on_pool_event(struct pl_session *session)
{
    pl_pool_clear_wake(session->pool);
    int64_t failed = pl_pool_state(session->pool).failed_stream;
    const struct pl_stream *stream = failed >= 0 ? &session->streams[failed] : NULL;
    if (stream != NULL && session->reason == NULL && !is_reset_after_window(session, stream)) {
        describe_failure(session, failed, atomic_load(&stream->failure));
        session->reason = session->reason_text;
    }
    return pl_pool_state(session->pool).closed == (uint32_t)session->flow.streams;
}

static void apply_command(struct pl_session *session, enum pl_command command)
{
    const struct pl_flow *flow = &session->flow;
    bool sends = flow->transmits && (!flow->receives || flow->messages.replies) && !flow->accepting;
    if (command == PL_COMMAND_STOP && sends && session->trial.counters->started) {
        session->drain_reason = pl_command_reason(command);
        begin_drain(session);
    } else if (pl_command_ends(command)) {
        session->reason = pl_command_reason(command);
    }
}

/* Applies the byte limits and quotas that the workers reached. */
static void check_byte_limit(struct pl_session *session)
{
    if (pl_pool_state(session->pool).capped && session->drain_reason == NULL && session->reason == NULL) {
        static const char text[] = "the limit of --volume-limit-bytes was reached";
        if (session->flow.receives) {
            session->reason = text;
        } else {
            session->drain_reason = text;
            begin_drain(session); /* wakes the workers that did not reach the limit themselves */
        }
    }
    if (session->flow.bytes > 0 && !session->flow.receives && pl_pool_state(session->pool).exhausted &&
        session->trial.counters->started)
        begin_drain(session);
}

/* Every stream has ended: checks whether that was too early. */
static void check_premature_end(struct pl_session *session)
{
    const struct pl_flow *flow = &session->flow;
    if (session->reason != NULL || !flow->receives || session->drain_reason != NULL)
        return;
    if (session->start_ns == 0)
        session->reason = "the sender ended before it sent anything";
    else if (flow->bytes > 0 && !session->kind->has_all(flow, session->streams))
        session->reason = "the sender ended before it had sent all bytes";
    else if (is_premature(session))
        session->reason = "the sender ended before the steady window was over";
}

static bool is_acceptor_due(const struct pl_session *session)
{
    return session->acceptor != NULL && pl_now_ns() >= session->acceptor_due_ns;
}

static void serve_acceptor(struct pl_session *session, struct pl_error *error)
{
    pl_ns begin_ns = pl_thread_cpu_ns(pthread_self());
    if (!pl_acceptor_serve(session->acceptor, error))
        session->reason = error->text;
    pl_ns spent_ns = pl_thread_cpu_ns(pthread_self()) - begin_ns;
    session->acceptor_due_ns = pl_now_ns() + ACCEPTOR_PAUSE_FACTOR * spent_ns;
}

/* Begins the time line unless `start_ns` is 0. */
static void start_trial(struct pl_session *session, pl_ns start_ns)
{
    session->start_ns = start_ns;
    if (start_ns != 0)
        session->written = pl_trial_start(&session->trial, start_ns) && session->written;
}

/* Looks whether anything was delivered since, in either direction; ends the flow after the idle time-out. */
static void check_silence(struct pl_session *session)
{
    pl_ns now_ns = pl_now_ns(), timeout_ns = session->flow.idle_timeout_ns;
    if (now_ns < session->idle_check_ns)
        return;
    uint64_t progress = pl_trial_progress(&session->trial);
    if (progress != session->idle_progress)
        session->idle_since_ns = now_ns;
    session->idle_progress = progress;
    session->idle_check_ns =
        pl_earlier(now_ns + timeout_ns / IDLE_CHECKS, session->idle_since_ns + timeout_ns);
    if (now_ns < session->idle_since_ns + timeout_ns || session->reason != NULL)
        return;
    char time[PL_QUANTITY_BYTES];
    (void)snprintf(session->reason_text, sizeof session->reason_text,
                   "the flow was silent: nothing was delivered in either direction for %s",
                   pl_format_exact_quantity(timeout_ns, PL_UNIT_NS, time));
    session->reason = session->reason_text;
}

static void begin(struct pl_session *session)
{
    hold_windows(session);
    session->idle_since_ns = pl_now_ns();
    session->idle_progress = pl_trial_progress(&session->trial);
    pl_ns first_ns = session->idle_since_ns + session->flow.idle_timeout_ns / IDLE_CHECKS;
    session->idle_check_ns = session->flow.idle_timeout_ns > 0 ? first_ns : PL_NEVER;
    pl_ns run_ns = pl_pool_run(session->pool);
    if (session->flow.accepting)
        return;
    session->earliest_ns = run_ns;
    start_trial(session, run_ns);
}

/* Counts how late the main thread runs. Stopped or starved it misses its heartbeats; a path that delivers
 * nothing does not delay them. */
static void note_lateness(struct pl_session *session)
{
    pl_ns now_ns = pl_now_ns();
    if (session->trial.counters->started)
        pl_trial_note_late(&session->trial, now_ns - session->awake_ns - HEARTBEAT_NS);
    session->awake_ns = now_ns;
}

void pl_session_run(struct pl_session *session, struct pl_error *error)
{
    struct pl_wait wait = {.fds = {pl_pool_fd(session->pool), -1}};
    begin(session);
    session->awake_ns = pl_now_ns();
    while (session->written && session->reason == NULL && !session->drain_expired) {
        wait.deadline_ns =
            pl_earlier(pl_earlier(pl_trial_next_ns(&session->trial), session->drain_deadline_ns),
                       pl_earlier(session->limit_ns, session->idle_check_ns));
        if (session->trial.counters->started)
            wait.deadline_ns = pl_earlier(wait.deadline_ns, session->awake_ns + HEARTBEAT_NS);
        wait.fds[1] = is_acceptor_due(session) ? pl_acceptor_fd(session->acceptor) : -1;
        if (session->acceptor != NULL)
            wait.deadline_ns = pl_earlier(wait.deadline_ns,
                                          wait.fds[1] >= 0 ? pl_acceptor_state(session->acceptor).deadline_ns
                                                           : session->acceptor_due_ns);
        enum pl_command command = pl_events_wait(session->events, &wait);
        note_lateness(session);
        apply_command(session, command);
        if (is_acceptor_due(session) &&
            (wait.ready[1] || pl_acceptor_state(session->acceptor).deadline_ns <= pl_now_ns()))
            serve_acceptor(session, error);
        bool ended = wait.ready[0] && on_pool_event(session);
        if (session->start_ns == 0)
            start_trial(session, pl_pool_state(session->pool).first_byte_ns);
        on_deadline(session);
        check_byte_limit(session);
        check_silence(session);
        if (ended) {
            check_premature_end(session);
            break;
        }
    }
    if (session->reason == NULL)
        session->reason = session->drain_reason;
}

int pl_session_finish(struct pl_session *session)
{
    struct pl_ending ending = {
        .reason = session->reason, .rejected = rejected(session), .resets = session->drain_expired};
    if (session->acceptor != NULL)
        ending.rejected += pl_acceptor_state(session->acceptor).pending;
    if (!pl_trial_finish(&session->trial, &ending) || !session->written)
        return PL_RESOURCES;
    if (session->reason == NULL)
        return PL_OK;
    (void)fprintf(stderr, "pathlab-engine: ended early: %s\n", session->reason);
    return PL_ENDED;
}

bool pl_session_early_end(enum pl_command command, const char *stage, struct pl_error *error)
{
    return pl_error_set(error, PL_ENDED, stage, 0, "%s before every stream was connected",
                        pl_command_reason(command));
}
