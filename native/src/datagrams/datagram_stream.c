#include "datagrams/datagram_stream.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "base/message.h"
#include "base/relaxed.h"
#include "messages/breach.h"

#define EVENTS 64

bool pl_datagram_is_over(const struct pl_worker *worker)
{
    return pl_load_relaxed(&worker->shared->mode) == PL_MODE_QUIT;
}

bool pl_datagram_is_open(const struct pl_stream *stream)
{
    return pl_load_relaxed(&stream->state) == PL_STREAM_OPEN;
}

void pl_datagram_tick(struct pl_worker *worker, pl_ns now_ns)
{
    if (now_ns - worker->published_ns >= PL_PUBLISH_NS)
        pl_worker_publish(worker, now_ns);
}

void pl_datagram_fail(struct pl_worker *worker, struct pl_stream *stream, int cause)
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
        pl_datagram_fail(worker, stream, cause);
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
        pl_datagram_fail(worker, stream, failure);
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
        pl_datagram_fail(worker, stream, count == 0 ? EPIPE : errno);
        return;
    }
    for (ssize_t at = 0; at < count;) {
        struct pl_statement statement;
        bool complete;
        ssize_t taken =
            pl_statement_read(&stream->link->reader, bytes + at, (size_t)(count - at), &statement, &complete);
        if (taken < 0 || (complete && !take_statement(worker, stream, &statement))) {
            pl_datagram_fail(worker, stream, PL_BREACH_STATEMENT);
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
            pl_clear_wake(worker->wake_fd);
        else if (of % 2 == 1)
            on_readable(worker, stream);
        else if (pl_datagram_is_open(stream))
            read_statements(worker, stream);
    }
}
