#include "datagrams/datagram_worker.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/message.h"
#include "messages/breach.h"

#define PUBLISH_NS (10 * PL_NS_PER_MS)
#define EVENTS 64
/* What an epoll event belongs to: 0 the wake-up, else stream i of the worker: 2 (i + 1), and 1 for its UDP
 * socket. */
#define EVENT_OF(index, datagrams) (2 * ((uint64_t)(index) + 1) + ((datagrams) ? 1 : 0))

enum { ROLE_SINK, ROLE_SOURCE };

uint32_t pl_datagram_threads(const struct pl_flow *flow)
{
    return flow->transmits && flow->receives ? 2 : 1;
}

bool pl_datagram_prepare(struct pl_worker *worker, uint32_t number, uint32_t lanes, struct pl_error *error)
{
    const struct pl_shared *shared = worker->shared;
    bool both = shared->transmits && shared->receives;
    worker->role =
        both ? (number < lanes ? ROLE_SINK : ROLE_SOURCE) : (shared->transmits ? ROLE_SOURCE : ROLE_SINK);
    /* One thread of a stream reads what the peer states. */
    worker->listens = !both || worker->role == ROLE_SINK;
    if (worker->role == ROLE_SOURCE)
        worker->pacing_errors = calloc(1, sizeof *worker->pacing_errors);
    else
        worker->state = pl_datagram_sink_create();
    if (worker->state != NULL || worker->pacing_errors != NULL)
        return true;
    pl_error_set(error, PL_RESOURCES, "workers", ENOMEM, "no memory for worker %u", number);
    return false;
}

bool pl_datagram_is_over(const struct pl_worker *worker)
{
    return atomic_load_explicit(&worker->shared->mode, memory_order_relaxed) == PL_MODE_QUIT;
}

bool pl_datagram_is_open(const struct pl_stream *stream)
{
    return atomic_load_explicit(&stream->state, memory_order_relaxed) == PL_STREAM_OPEN;
}

void pl_datagram_tick(struct pl_worker *worker, pl_ns now_ns)
{
    if (now_ns - worker->published_ns >= PUBLISH_NS)
        pl_worker_publish(worker, now_ns);
}

static void fail(struct pl_worker *worker, struct pl_stream *stream, int cause)
{
    if (pl_datagram_is_open(stream))
        pl_worker_close(worker, stream, cause);
}

void pl_datagram_fail_sending(struct pl_worker *worker, struct pl_stream *stream, int cause)
{
    struct pl_datagram_link *link = stream->link;
    atomic_store(&link->sends_over, true);
    atomic_store(&link->send_failure, cause);
    if (worker->listens)
        fail(worker, stream, cause);
}

void pl_datagram_state(struct pl_worker *worker, struct pl_stream *stream,
                       const struct pl_statement *statement)
{
    uint8_t bytes[PL_STATEMENT_MAX_BYTES];
    size_t count = pl_statement_encode(statement, bytes);
    worker->calls++;
    /* Where it cannot be sent the peer is gone: then this end reads the end of the stream. */
    (void)pl_message_send(stream->fd, bytes, count, true);
}

void pl_datagram_end_if_done(struct pl_worker *worker, struct pl_stream *stream)
{
    const struct pl_shared *shared = worker->shared;
    const struct pl_datagram_link *link = stream->link;
    int failure = atomic_load(&link->send_failure);
    if (failure != 0)
        fail(worker, stream, failure);
    bool sent = !shared->transmits || (atomic_load(&link->sends_over) && atomic_load(&link->confirmed));
    if (sent && (!shared->receives || link->receipted) && pl_datagram_is_open(stream))
        pl_worker_close(worker, stream, 0);
}

/* False for a statement that has no place there. */
static bool take_statement(struct pl_worker *worker, struct pl_stream *stream,
                           const struct pl_statement *statement)
{
    const struct pl_shared *shared = worker->shared;
    struct pl_datagram_link *link = stream->link;
    bool fits = false;
    switch (statement->kind) {
    case PL_STATEMENT_START:
        fits = shared->accepting && !atomic_load(&link->started);
        atomic_store(&link->started, true);
        pl_worker_record_first_byte(worker, pl_now_ns());
        break;
    case PL_STATEMENT_END:
        fits = shared->receives && !atomic_load(&link->ended) &&
               statement->sent[PL_DATAGRAM_WARMUP] <= UINT64_MAX - statement->sent[PL_DATAGRAM_STEADY];
        link->end = *statement;
        link->ended_ns = link->heard_ns = pl_now_ns();
        atomic_store(&link->ended, fits);
        worker->notified = true;
        break;
    case PL_STATEMENT_RECEIPT:
        fits = shared->transmits && atomic_load(&link->sends_over) && !atomic_load(&link->confirmed);
        link->receipt = *statement;
        if (fits)
            pl_stream_confirm(stream, statement->bytes);
        atomic_store(&link->confirmed, fits);
        break;
    case PL_STATEMENT_KINDS:
        break;
    }
    return fits;
}

static void read_statements(struct pl_worker *worker, struct pl_stream *stream)
{
    uint8_t bytes[4 * PL_STATEMENT_MAX_BYTES];
    ssize_t count = recv(stream->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    worker->calls++;
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0) {
        fail(worker, stream, count == 0 ? EPIPE : errno);
        return;
    }
    for (ssize_t at = 0; at < count;) {
        struct pl_statement statement;
        bool complete;
        ssize_t taken =
            pl_statement_read(&stream->link->reader, bytes + at, (size_t)(count - at), &statement, &complete);
        if (taken < 0 || (complete && !take_statement(worker, stream, &statement))) {
            fail(worker, stream, PL_BREACH_STATEMENT);
            return;
        }
        at += taken;
    }
    pl_datagram_end_if_done(worker, stream);
}

void pl_datagram_serve(struct pl_worker *worker, int timeout_ms,
                       void (*on_readable)(struct pl_worker *worker, struct pl_stream *stream))
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(worker->epoll_fd, events, EVENTS, timeout_ms);
    worker->calls++;
    for (int i = 0; i < count; i++) {
        uint64_t of = events[i].data.u64;
        struct pl_stream *stream = of > 0 ? worker->streams[of / 2 - 1] : NULL;
        if (stream == NULL)
            pl_worker_clear_wake(worker);
        else if (of % 2 == 1)
            on_readable(worker, stream);
        else if (pl_datagram_is_open(stream))
            read_statements(worker, stream);
    }
}

/* Watches the worker's streams, and the sockets of their datagrams where it receives. */
static void watch(struct pl_worker *worker)
{
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_stream *stream = worker->streams[i];
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = EVENT_OF(i, false)};
        struct epoll_event datagrams = {.events = EPOLLIN, .data.u64 = EVENT_OF(i, true)};
        worker->calls += 2;
        if ((worker->listens && epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event) != 0) ||
            (worker->role == ROLE_SINK &&
             epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, stream->link->fd, &datagrams) != 0))
            fail(worker, stream, errno);
    }
}

void *pl_datagram_worker_run(void *argument)
{
    static const struct pl_statement start = {.kind = PL_STATEMENT_START};
    struct pl_worker *worker = argument;
    struct pollfd wake = {.fd = worker->wake_fd, .events = POLLIN};
    while (atomic_load(&worker->shared->mode) == PL_MODE_WAIT)
        (void)poll(&wake, 1, -1);
    if (pl_datagram_is_over(worker))
        return NULL;
    /* Sleeps until datagrams are due end within a microsecond instead of 50. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    pl_worker_open_schedule(worker);
    pl_worker_publish(worker, pl_now_ns());
    pl_worker_show_cpu_clock(worker);
    watch(worker);
    for (uint32_t i = 0; worker->listens && !worker->shared->accepting && i < worker->count; i++)
        pl_datagram_state(worker, worker->streams[i], &start);
    if (worker->role == ROLE_SINK)
        pl_datagram_sink_run(worker);
    else
        pl_datagram_source_run(worker);
    pl_worker_publish(worker, pl_now_ns());
    pl_worker_hide_cpu_clock(worker);
    return NULL;
}
