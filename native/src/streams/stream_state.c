#include "streams/stream_state.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/relaxed.h"
#include <linux/sctp.h> /* needs the headers above */

bool pl_worker_runs(const struct pl_worker *worker)
{
    int mode = pl_load_relaxed(&worker->shared->mode);
    /* A side that has sent everything still reads the peer's remaining data. */
    return mode == PL_MODE_RUN || (mode == PL_MODE_SHUT && worker->applied_mode == PL_MODE_SHUT);
}

bool pl_stream_is_open(const struct pl_stream *stream)
{
    return pl_load_relaxed(&stream->state) == PL_STREAM_OPEN;
}

static struct epoll_event interest_of(struct pl_stream *stream)
{
    struct epoll_event event = {.data.ptr = stream};
    if (!stream->ended)
        event.events |= EPOLLIN;
    if (stream->writing && !stream->paused && pl_stream_is_open(stream))
        event.events |= EPOLLOUT;
    return event;
}

void pl_stream_watch(struct pl_worker *worker, struct pl_stream *stream)
{
    struct epoll_event event = interest_of(stream);
    (void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_MOD, stream->fd, &event);
    worker->calls++;
}

bool pl_stream_begin_watch(struct pl_worker *worker, struct pl_stream *stream)
{
    struct epoll_event event = interest_of(stream);
    worker->calls++;
    return epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event) == 0;
}

void pl_stream_shut(struct pl_worker *worker, struct pl_stream *stream)
{
    if (!pl_stream_is_open(stream))
        return;
    atomic_store(&stream->state, PL_STREAM_SHUT);
    (void)shutdown(stream->fd, SHUT_WR);
    stream->shut = true;
    worker->calls++;
    if (stream->ended || !worker->shared->half_closes)
        pl_stream_finish(worker, stream);
    else
        pl_stream_watch(worker, stream);
}

void pl_stream_pause(struct pl_worker *worker, struct pl_stream *stream, pl_ns until_ns)
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

void pl_stream_finish(struct pl_worker *worker, struct pl_stream *stream)
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
    pl_stream_pause(worker, stream, pl_now_ns() + PL_PAUSE_MS * PL_NS_PER_MS);
}
