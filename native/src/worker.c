#include "worker.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 64
/* Reads or writes on one stream before the others have their turn. */
#define TURN 8
#define PUBLISH_MS 10

void pl_wake(int event_fd)
{
    const uint64_t one = 1;
    (void)!write(event_fd, &one, sizeof one);
}

static int64_t to_ns(struct timeval t)
{
    return (int64_t)t.tv_sec * PL_NS_PER_S + (int64_t)t.tv_usec * 1000;
}

static void publish_cpu(struct pl_worker *worker, pl_ns now_ns)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) == 0) {
        atomic_store_explicit(&worker->user_ns, to_ns(usage.ru_utime), memory_order_relaxed);
        atomic_store_explicit(&worker->system_ns, to_ns(usage.ru_stime), memory_order_relaxed);
    }
    worker->published_ns = now_ns;
}

static void close_stream(struct pl_worker *worker, struct pl_stream *stream, int failure)
{
    struct pl_shared *shared = worker->shared;
    (void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_DEL, stream->fd, NULL);
    if (failure != 0) {
        int64_t none = -1;
        atomic_store(&stream->failure, failure);
        (void)atomic_compare_exchange_strong(&shared->failed_stream, &none, (int64_t)stream->number);
    }
    atomic_store(&stream->state, failure != 0 ? PL_STREAM_FAILED : PL_STREAM_ENDED);
    if (atomic_fetch_add(&shared->closed, 1) + 1 == shared->streams || failure != 0)
        pl_wake(shared->main_wake_fd);
}

/* Adds to the stream's counter; false when the limit of bytes is met. */
static bool count_bytes(struct pl_worker *worker, struct pl_stream *stream, size_t bytes)
{
    /* One writer: no read-modify-write is needed. */
    uint64_t before = atomic_load_explicit(&stream->bytes, memory_order_relaxed);
    atomic_store_explicit(&stream->bytes, before + bytes, memory_order_relaxed);
    struct pl_shared *shared = worker->shared;
    if (shared->max_bytes == 0 || atomic_fetch_add(&shared->counted, bytes) + bytes < shared->max_bytes)
        return true;
    int running = PL_MODE_RUN;
    if (atomic_compare_exchange_strong(&shared->mode, &running,
                                       shared->sending ? PL_MODE_SHUT : PL_MODE_QUIT)) {
        atomic_store(&shared->capped, true);
        pl_wake(shared->main_wake_fd);
    }
    return false;
}

static void note_first_byte(struct pl_worker *worker)
{
    int64_t none = 0;
    worker->first_byte_seen = true;
    if (atomic_compare_exchange_strong(&worker->shared->first_byte_ns, &none, pl_now_ns()))
        pl_wake(worker->shared->main_wake_fd);
}

static void receive_turn(struct pl_worker *worker, struct pl_stream *stream)
{
    size_t chunk = worker->shared->chunk_bytes;
    /* Past the limit of bytes the other streams of this batch are left unread. */
    for (int i = 0; i < TURN; i++) {
        if (atomic_load_explicit(&worker->shared->mode, memory_order_relaxed) != PL_MODE_RUN)
            return;
        ssize_t count = recv(stream->fd, worker->buffer, chunk, 0);
        if (count > 0) {
            if (!worker->first_byte_seen)
                note_first_byte(worker);
            if (!count_bytes(worker, stream, (size_t)count) || (size_t)count < chunk)
                return;
        } else if (count == 0) {
            /* Our end of file tells the sender that everything has been read. The descriptor stays open
             * for a last TCP_INFO. */
            (void)shutdown(stream->fd, SHUT_WR);
            close_stream(worker, stream, 0);
            return;
        } else if (errno != EINTR) {
            if (errno != EAGAIN)
                close_stream(worker, stream, errno);
            return;
        }
    }
}

/* The receiver never sends data: what can be read is the end, or a failure. False when the stream is over. */
static bool watch_peer(struct pl_worker *worker, struct pl_stream *stream)
{
    uint8_t scratch[64];
    ssize_t count = recv(stream->fd, scratch, sizeof scratch, 0);
    if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)))
        return true;
    bool expected = atomic_load_explicit(&stream->state, memory_order_relaxed) == PL_STREAM_SHUT;
    close_stream(worker, stream, count < 0 ? errno : expected ? 0 : EPIPE);
    return false;
}

static void send_turn(struct pl_worker *worker, struct pl_stream *stream, uint32_t events)
{
    if ((events & ~(uint32_t)EPOLLOUT) != 0 && !watch_peer(worker, stream))
        return;
    if ((events & EPOLLOUT) == 0)
        return;
    size_t chunk = worker->shared->chunk_bytes;
    for (int i = 0; i < TURN; i++) {
        if (atomic_load_explicit(&worker->shared->mode, memory_order_relaxed) != PL_MODE_RUN)
            return;
        ssize_t count = send(stream->fd, worker->buffer, chunk, MSG_NOSIGNAL);
        if (count >= 0) {
            if (!count_bytes(worker, stream, (size_t)count) || (size_t)count < chunk)
                return;
        } else if (errno != EINTR) {
            if (errno != EAGAIN)
                close_stream(worker, stream, errno);
            return;
        }
    }
}

static void shut_stream(struct pl_worker *worker, struct pl_stream *stream)
{
    if (atomic_load(&stream->state) != PL_STREAM_OPEN)
        return;
    atomic_store(&stream->state, PL_STREAM_SHUT);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = stream};
    (void)shutdown(stream->fd, SHUT_WR);
    (void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_MOD, stream->fd, &event);
}

/* Follows the pool's mode; false when the thread shall end. */
static bool apply_mode(struct pl_worker *worker)
{
    int mode = atomic_load(&worker->shared->mode);
    if (mode == worker->applied_mode)
        return true;
    bool never_ran = worker->applied_mode == PL_MODE_WAIT;
    worker->applied_mode = mode;
    if (mode == PL_MODE_QUIT)
        return false;
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_stream *stream = worker->streams[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = stream};
        if (worker->shared->sending && mode == PL_MODE_RUN)
            event.events |= EPOLLOUT;
        if (never_ran && epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event) != 0)
            close_stream(worker, stream, errno);
        if (mode == PL_MODE_SHUT)
            shut_stream(worker, stream);
    }
    return true;
}

static void serve(struct pl_worker *worker, const struct epoll_event *event)
{
    struct pl_stream *stream = event->data.ptr;
    if (stream == NULL) {
        uint64_t wakes;
        (void)!read(worker->wake_fd, &wakes, sizeof wakes);
    } else if (worker->shared->sending) {
        send_turn(worker, stream, event->events);
    } else {
        receive_turn(worker, stream);
    }
}

void *pl_worker_run(void *argument)
{
    struct pl_worker *worker = argument;
    struct epoll_event events[BATCH];
    bool stale = false;
    while (apply_mode(worker)) {
        /* Blocks without end only when the CPU time that the sampler sees is up to date. */
        int count = epoll_wait(worker->epoll_fd, events, BATCH, stale ? PUBLISH_MS : -1);
        for (int i = 0; i < count; i++)
            serve(worker, &events[i]);
        pl_ns now_ns = pl_now_ns();
        stale = count > 0 && now_ns - worker->published_ns < PUBLISH_MS * PL_NS_PER_MS;
        if (!stale)
            publish_cpu(worker, now_ns);
    }
    publish_cpu(worker, pl_now_ns());
    return NULL;
}
