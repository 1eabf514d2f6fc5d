#include "streams/writing.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/relaxed.h"
#include "streams/stream_state.h"

/* The lead over its rate at which a stream waits; also the step of the wait. */
#define PACING_STEP_NS PL_NS_PER_MS

static ssize_t write_some(struct pl_worker *worker, const struct pl_stream *stream, size_t bytes)
{
    struct pl_shared *shared = worker->shared;
    if (worker->pipeline.source[0] >= 0) {
        ssize_t count = pl_pipeline_send(&worker->pipeline, stream->fd, bytes, &worker->calls);
        if (count >= 0 || (errno != EINVAL && errno != EOPNOTSUPP))
            return count;
        /* This socket does not support splice: from now on bytes are copied, and the result states it. */
        atomic_store(&shared->splice_failure, errno);
        pl_pipeline_close(&worker->pipeline);
    }
    worker->calls++;
    return send(stream->fd, worker->write_buffer, bytes, MSG_NOSIGNAL);
}

static void pause_stream(struct pl_worker *worker, struct pl_stream *stream, pl_ns until_ns)
{
    pl_stream_pause(worker, stream, until_ns);
    pl_stream_watch(worker, stream);
}

/* Counts `bytes` against the rate; true when the stream must wait. */
static bool is_ahead(const struct pl_worker *worker, struct pl_stream *stream, size_t bytes)
{
    pl_ns now_ns = pl_now_ns();
    /* Unused rate does not accumulate. */
    if (stream->due_ns < now_ns - PACING_STEP_NS)
        stream->due_ns = now_ns - PACING_STEP_NS;
    stream->due_ns += (pl_ns)((double)bytes * 8e9 / (double)worker->shared->user_rate_bits_per_s);
    return stream->due_ns > now_ns;
}

static void exhaust(struct pl_worker *worker, struct pl_stream *stream)
{
    pl_stream_shut(worker, stream);
    pl_worker_note_exhausted(worker, 1);
}

void pl_write_turn(struct pl_worker *worker, struct pl_stream *stream)
{
    const struct pl_shared *shared = worker->shared;
    uint64_t sent = pl_load_relaxed(&stream->sent_bytes);
    worker->calls += pl_backlog_follow(&stream->backlog, stream->fd, sent, pl_now_ns());
    for (int i = 0; i < worker->turn && pl_worker_runs(worker); i++) {
        size_t bytes = shared->write_bytes;
        if (bytes > stream->quota_bytes)
            bytes = (size_t)stream->quota_bytes;
        ssize_t count = write_some(worker, stream, bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno != EAGAIN) {
            pl_worker_close(worker, stream, errno);
            return;
        }
        if (count < 0) {
            /* epoll reported room and there is none: the kernel lacks socket memory and would report room
             * repeatedly. */
            if (i == 0)
                pause_stream(worker, stream, pl_now_ns() + PACING_STEP_NS);
            return;
        }
        sent += (size_t)count;
        pl_store_relaxed(&stream->sent_bytes, sent);
        bool more = pl_worker_count(worker, (size_t)count);
        if (stream->quota_bytes != UINT64_MAX) {
            stream->quota_bytes -= (size_t)count;
            if (stream->quota_bytes == 0) {
                exhaust(worker, stream);
                return;
            }
        }
        if (shared->user_rate_bits_per_s > 0 && is_ahead(worker, stream, (size_t)count)) {
            pause_stream(worker, stream, stream->due_ns);
            return;
        }
        if (!more)
            return;
    }
}

void pl_write_resume(struct pl_worker *worker, pl_ns now_ns)
{
    for (uint32_t i = 0; i < worker->count && worker->paused > 0; i++) {
        struct pl_stream *stream = worker->streams[i];
        if (!stream->paused || stream->due_ns > now_ns)
            continue;
        stream->paused = false;
        worker->paused--;
        int state = pl_load_relaxed(&stream->state);
        if (state == PL_STREAM_OPEN)
            pl_stream_watch(worker, stream);
        else if (state == PL_STREAM_SHUT && (stream->ended || !worker->shared->half_closes))
            pl_stream_finish(worker, stream);
    }
}
