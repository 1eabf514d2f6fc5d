#include "streams/stream_worker.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>

#include "base/descriptor.h"
#include "base/message.h"
#include "base/relaxed.h"
#include "streams/reading.h"
#include "streams/stream_state.h"
#include "streams/writing.h"

#define BATCH 64

/* A connecting side that sends no data starts its peer by this byte; else the first byte of data does. */
static void send_start(struct pl_worker *worker, struct pl_stream *stream)
{
    if (worker->shared->accepting || worker->shared->transmits)
        return;
    static const uint8_t go = 'g';
    int cause = pl_message_send(stream->fd, &go, sizeof go, true);
    if (cause != 0)
        pl_worker_close(worker, stream, cause);
    worker->calls++;
}

static void begin_stream(struct pl_worker *worker, struct pl_stream *stream)
{
    const struct pl_shared *shared = worker->shared;
    stream->writing = shared->transmits && !shared->accepting;
    if (!pl_stream_begin_watch(worker, stream))
        pl_worker_close(worker, stream, errno);
    else
        send_start(worker, stream);
}

/* Follows the pool's mode; false when the thread has to end. */
static bool apply_mode(struct pl_worker *worker)
{
    int mode = atomic_load(&worker->shared->mode);
    if (mode == worker->applied_mode)
        return true;
    worker->applied_mode = mode;
    for (uint32_t i = 0; mode == PL_MODE_SHUT && i < worker->count; i++)
        pl_stream_shut(worker, worker->streams[i]);
    return mode != PL_MODE_QUIT;
}

/* Where the other end shares this core it runs now, while the written data is still in the caches: with many
 * streams that doubles the rate. Without a waiting thread it costs one short call. A worker with one stream
 * does better on a core of its own, and yielding would attract the other end to this one. */
static void write_turn(struct pl_worker *worker, struct pl_stream *stream)
{
    pl_write_turn(worker, stream);
    if (worker->count > 1) {
        (void)sched_yield();
        worker->calls++;
    }
}

static void serve(struct pl_worker *worker, const struct epoll_event *event)
{
    struct pl_stream *stream = event->data.ptr;
    if (stream == NULL) {
        pl_clear_wake(worker->wake_fd);
        return;
    }
    /* A read reports an error or a hang-up; after the end of file a write does. */
    bool readable = (event->events & ~(uint32_t)EPOLLOUT) != 0 && !stream->ended;
    if (readable && !pl_read_turn(worker, stream))
        return;
    if (stream->writing && !stream->paused && pl_stream_is_open(stream) &&
        (!readable || (event->events & EPOLLOUT) != 0))
        write_turn(worker, stream);
}

void pl_stream_worker_run(struct pl_worker *worker)
{
    struct epoll_event events[BATCH];
    bool stale = false;
    for (uint32_t i = 0; i < worker->count; i++)
        begin_stream(worker, worker->streams[i]);
    while (apply_mode(worker)) {
        /* Blocks without a time-out only when the published usage is up to date. */
        int timeout_ms = worker->paused > 0 ? PL_PAUSE_MS : stale ? (int)(PL_PUBLISH_NS / PL_NS_PER_MS) : -1;
        int count = epoll_wait(worker->epoll_fd, events, BATCH, timeout_ms);
        worker->calls++;
        uint64_t wake_ups = pl_load_relaxed(&worker->wake_ups);
        pl_store_relaxed(&worker->wake_ups, wake_ups + 1);
        for (int i = 0; i < count; i++)
            serve(worker, &events[i]);
        pl_ns now_ns = pl_now_ns();
        if (worker->paused > 0)
            pl_write_resume(worker, now_ns);
        stale = count > 0 && now_ns - worker->published_ns < PL_PUBLISH_NS;
        if (!stale)
            pl_worker_publish(worker, now_ns);
    }
}
