/* The role of a source: messages to every sink, in rounds, at an offered rate or as fast as the sinks take
 * them. */
#include <errno.h>

#include "base/relaxed.h"
#include "messages/message_pace.h"
#include "messages/roles.h"

/* A signal that comes just before a sleep does not end it. */
#define RECHECK_NS (100 * PL_NS_PER_MS)
/* Rounds between two readings of the clock, fewer with more bytes: on a slow path these take long. */
#define RECHECK_ROUNDS 64
#define RECHECK_BYTES (64 << 10)

/* False when every stream has sent its share, or one has failed. */
static bool send_round(struct pl_worker *worker, int *cause, uint32_t *failed)
{
    bool left = false;
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_stream *stream = worker->streams[i];
        uint64_t quota = pl_role_find_quota(worker, stream);
        if (quota == 0)
            continue;
        left = true;
        pl_batch_fill(&stream->endpoint->batch, quota);
        *cause = pl_role_send_batch(worker, stream);
        *failed = i;
        if (*cause != 0)
            return false;
    }
    return left;
}

/* As fast as possible: every batch is full at once, so that no delay counts. */
static int send_fast(struct pl_worker *worker, uint32_t *failed)
{
    size_t round_bytes = worker->streams[0]->endpoint->batch.room_bytes * worker->count;
    uint32_t rounds = round_bytes < RECHECK_BYTES / RECHECK_ROUNDS ? RECHECK_ROUNDS
                      : round_bytes < RECHECK_BYTES                ? (uint32_t)(RECHECK_BYTES / round_bytes)
                                                                   : 1;
    int cause = 0;
    for (uint32_t turn = 1; pl_role_sends(worker) && send_round(worker, &cause, failed); turn++)
        if (turn % rounds == 0)
            pl_role_tick(worker, pl_now_ns());
    return cause;
}

static int send_at_rate(struct pl_worker *worker, uint32_t *failed)
{
    struct pl_pace pace = pl_pace_begin(worker);
    pl_ns now_ns = pl_now_ns();
    int cause = 0;
    while (cause == 0 && pl_role_sends(worker)) {
        pl_ns next_ns = pl_pace_step(&pace, worker, now_ns, UINT64_MAX, &cause, failed);
        if (cause != 0)
            break;
        pl_ns spun_ns = pl_load_relaxed(&worker->spun_ns);
        now_ns = pl_wait_until(next_ns < now_ns + RECHECK_NS ? next_ns : now_ns + RECHECK_NS, &spun_ns);
        pl_store_relaxed(&worker->spun_ns, spun_ns);
        worker->calls++;
        pl_role_tick(worker, now_ns);
    }
    return pl_pace_finish(&pace, worker, cause, failed);
}

static int send_all(struct pl_worker *worker, uint32_t *failed)
{
    if (worker->shared->messages->rate_per_s > 0)
        return send_at_rate(worker, failed);
    int cause = send_fast(worker, failed);
    /* The limit of bytes ends the sending like the end of the steady window. */
    return cause == ECANCELED && !pl_role_is_over(worker) ? 0 : cause;
}

void pl_source_run(struct pl_worker *worker)
{
    uint32_t failed = 0;
    int cause = send_all(worker, &failed);
    if (cause != 0) {
        pl_role_end_stream(worker, worker->streams[failed], cause);
        return;
    }
    pl_worker_note_exhausted(worker, worker->count);
    for (uint32_t i = 0; i < worker->count; i++)
        pl_channel_end_writing(&worker->streams[i]->endpoint->channel);
    /* In one process the sink ends the stream. */
    bool apart = worker->shared->messages->placement == PL_PLACEMENT_APART;
    for (uint32_t i = 0; apart && i < worker->count; i++)
        pl_role_end_stream(worker, worker->streams[i],
                           pl_role_await_confirmation(worker, worker->streams[i]));
}

/* The half of a requester that sends; what returns is received by another thread, which ends the stream. */
void pl_sender_run(struct pl_worker *worker)
{
    uint32_t failed = 0;
    struct pl_endpoint *endpoint = worker->streams[0]->endpoint;
    int cause = send_all(worker, &failed);
    if (cause == 0)
        pl_channel_end_writing(&endpoint->channel);
    else
        atomic_store(&endpoint->send_failure, cause);
    atomic_store(&endpoint->sends_over, true);
}
