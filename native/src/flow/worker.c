#include "flow/worker.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sctp.h> /* needs the headers above */

#include "base/message.h"
#include "flow/run_queue.h"
#include "streams/reading.h"
#include "streams/writing.h"

#define BATCH 64
#define PUBLISH_MS 10
/* The step of user-space pacing. */
#define PAUSE_MS 1

void pl_wake(int event_fd)
{
    const uint64_t one = 1;
    (void)!write(event_fd, &one, sizeof one);
}

static int64_t to_ns(struct timeval t)
{
    return (int64_t)t.tv_sec * PL_NS_PER_S + (int64_t)t.tv_usec * 1000;
}

void pl_worker_publish(struct pl_worker *worker, pl_ns now_ns)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        atomic_store_explicit(&worker->user_ns, to_ns(usage.ru_utime), memory_order_relaxed);
        atomic_store_explicit(&worker->system_ns, to_ns(usage.ru_stime), memory_order_relaxed);
    }
    atomic_store_explicit(&worker->waiting_ns, pl_run_queue_waiting_ns(worker->schedule_fd),
                          memory_order_relaxed);
    atomic_store_explicit(&worker->system_calls, worker->calls, memory_order_relaxed);
    worker->published_ns = now_ns;
}

void pl_worker_open_schedule(struct pl_worker *worker)
{
    worker->schedule_fd = pl_run_queue_open();
}

void pl_worker_show_cpu_clock(struct pl_worker *worker)
{
    clockid_t clock;
    if (pthread_getcpuclockid(pthread_self(), &clock) == 0)
        atomic_store(&worker->cpu_clock, clock);
}

void pl_worker_hide_cpu_clock(struct pl_worker *worker)
{
    atomic_store(&worker->cpu_clock, 0);
}

void pl_worker_clear_wake(struct pl_worker *worker)
{
    uint64_t wakes;
    (void)!read(worker->wake_fd, &wakes, sizeof wakes);
}

void pl_worker_record_first_byte(struct pl_worker *worker, pl_ns now_ns)
{
    int64_t none = 0;
    if (worker->first_byte_seen)
        return;
    worker->first_byte_seen = true;
    if (atomic_compare_exchange_strong(&worker->shared->first_byte_ns, &none, now_ns))
        pl_wake(worker->shared->main_wake_fd);
}

void pl_worker_note_exhausted(struct pl_worker *worker, uint32_t streams)
{
    struct pl_shared *shared = worker->shared;
    if (atomic_fetch_add(&shared->exhausted, streams) + streams == shared->streams)
        pl_wake(shared->main_wake_fd);
}

bool pl_worker_runs(const struct pl_worker *worker)
{
    int mode = atomic_load_explicit(&worker->shared->mode, memory_order_relaxed);
    /* A side that has sent everything still reads the peer's remaining data. */
    return mode == PL_MODE_RUN || (mode == PL_MODE_SHUT && worker->applied_mode == PL_MODE_SHUT);
}

void pl_worker_close(struct pl_worker *worker, struct pl_stream *stream, int failure)
{
    struct pl_shared *shared = worker->shared;
    (void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_DEL, stream->fd, NULL);
    worker->calls++;
    if (failure != 0) {
        int64_t none = -1;
        atomic_store(&stream->failure, failure);
        (void)atomic_compare_exchange_strong(&shared->failed_stream, &none, (int64_t)stream->number);
    }
    atomic_store(&stream->state, failure != 0 ? PL_STREAM_FAILED : PL_STREAM_ENDED);
    if (atomic_fetch_add(&shared->closed, 1) + 1 == shared->streams || failure != 0)
        pl_wake(shared->main_wake_fd);
}

bool pl_worker_count(struct pl_worker *worker, size_t bytes)
{
    struct pl_shared *shared = worker->shared;
    if (shared->max_bytes == 0 || atomic_fetch_add(&shared->counted, bytes) + bytes < shared->max_bytes)
        return true;
    int running = PL_MODE_RUN;
    if (atomic_compare_exchange_strong(&shared->mode, &running,
                                       shared->receives ? PL_MODE_QUIT : PL_MODE_SHUT)) {
        atomic_store(&shared->capped, true);
        pl_wake(shared->main_wake_fd);
    }
    return false;
}

static bool is_open(const struct pl_stream *stream)
{
    return atomic_load_explicit(&stream->state, memory_order_relaxed) == PL_STREAM_OPEN;
}

static struct epoll_event interest_of(struct pl_stream *stream)
{
    struct epoll_event event = {.data.ptr = stream};
    if (!stream->ended)
        event.events |= EPOLLIN;
    if (stream->writing && !stream->paused && is_open(stream))
        event.events |= EPOLLOUT;
    return event;
}

void pl_worker_watch(struct pl_worker *worker, struct pl_stream *stream)
{
    struct epoll_event event = interest_of(stream);
    (void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_MOD, stream->fd, &event);
    worker->calls++;
}

void pl_worker_shut(struct pl_worker *worker, struct pl_stream *stream)
{
    if (!is_open(stream))
        return;
    atomic_store(&stream->state, PL_STREAM_SHUT);
    (void)shutdown(stream->fd, SHUT_WR);
    stream->shut = true;
    worker->calls++;
    if (stream->ended || !worker->shared->half_closes)
        pl_worker_finish(worker, stream);
    else
        pl_worker_watch(worker, stream);
}

void pl_worker_pause(struct pl_worker *worker, struct pl_stream *stream, pl_ns until_ns)
{
    worker->paused += stream->paused ? 0 : 1;
    stream->paused = true;
    stream->due_ns = until_ns;
}

/* The errno with which the connection ended; 0 for none. */
static int find_failure(int fd)
{
    int failure = 0;
    socklen_t length = sizeof failure;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 ? failure : 0;
}

/* Whether the peer's kernel has received everything. An SCTP association lasts until then, and its socket
 * does not signal the end, not even by an end of file. */
static bool is_delivered(const struct pl_shared *shared, const struct pl_stream *stream)
{
    int queued = 0;
    if (shared->half_closes)
        return ioctl(stream->fd, SIOCOUTQ, &queued) != 0 || queued <= 0;
    struct sctp_status status = {0};
    socklen_t length = sizeof status;
    return getsockopt(stream->fd, IPPROTO_SCTP, SCTP_STATUS, &status, &length) != 0;
}

void pl_worker_finish(struct pl_worker *worker, struct pl_stream *stream)
{
    worker->calls++;
    if (is_delivered(worker->shared, stream)) {
        pl_worker_close(worker, stream, 0);
        return;
    }
    int failure = find_failure(stream->fd);
    worker->calls++;
    if (failure != 0) {
        pl_worker_close(worker, stream, failure);
        return;
    }
    /* epoll would report the hang-up of both sides repeatedly. */
    (void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_DEL, stream->fd, NULL);
    worker->calls++;
    pl_worker_pause(worker, stream, pl_now_ns() + PAUSE_MS * PL_NS_PER_MS);
}

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
    struct epoll_event event = interest_of(stream);
    worker->calls++;
    if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event) != 0)
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
    bool never_ran = worker->applied_mode == PL_MODE_WAIT;
    worker->applied_mode = mode;
    if (mode == PL_MODE_QUIT)
        return false;
    /* Opened as late as this, because the other workers' pipes have precedence where descriptors are scarce.
     */
    if (never_ran) {
        pl_worker_open_schedule(worker);
        pl_worker_publish(worker, pl_now_ns());
    }
    for (uint32_t i = 0; i < worker->count; i++) {
        if (never_ran)
            begin_stream(worker, worker->streams[i]);
        if (mode == PL_MODE_SHUT)
            pl_worker_shut(worker, worker->streams[i]);
    }
    return true;
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
        pl_worker_clear_wake(worker);
        return;
    }
    /* A read reports an error or a hang-up; after the end of file a write does. */
    bool readable = (event->events & ~(uint32_t)EPOLLOUT) != 0 && !stream->ended;
    if (readable && !pl_read_turn(worker, stream))
        return;
    if (stream->writing && !stream->paused && is_open(stream) &&
        (!readable || (event->events & EPOLLOUT) != 0))
        write_turn(worker, stream);
}

void *pl_worker_run(void *argument)
{
    struct pl_worker *worker = argument;
    struct epoll_event events[BATCH];
    bool stale = false;
    while (apply_mode(worker)) {
        /* Blocks without a time-out only when the published usage is up to date. */
        int timeout_ms = worker->paused > 0 ? PAUSE_MS : stale ? PUBLISH_MS : -1;
        int count = epoll_wait(worker->epoll_fd, events, BATCH, timeout_ms);
        worker->calls++;
        uint64_t wake_ups = atomic_load_explicit(&worker->wake_ups, memory_order_relaxed);
        atomic_store_explicit(&worker->wake_ups, wake_ups + 1, memory_order_relaxed);
        for (int i = 0; i < count; i++)
            serve(worker, &events[i]);
        pl_ns now_ns = pl_now_ns();
        if (worker->paused > 0)
            pl_write_resume(worker, now_ns);
        stale = count > 0 && now_ns - worker->published_ns < PUBLISH_MS * PL_NS_PER_MS;
        if (!stale)
            pl_worker_publish(worker, now_ns);
    }
    pl_worker_publish(worker, pl_now_ns());
    return NULL;
}
