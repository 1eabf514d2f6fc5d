#include "datagrams/datagram_worker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "datagrams/datagram_stream.h"

enum { ROLE_SINK, ROLE_SOURCE };

uint32_t pl_datagram_threads(const struct pl_flow *flow)
{
    return flow->transmits && flow->receives ? 2 : 1;
}

bool pl_datagram_prepare(struct pl_worker *worker, const struct pl_flow *flow, uint32_t number,
                         uint32_t lanes, struct pl_error *error)
{
    (void)flow;
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
    return pl_error_set(error, PL_RESOURCES, "workers", ENOMEM, "no memory for worker %u", number);
}

/* Watches the worker's streams, and the sockets of their datagrams where it receives. */
static void watch(struct pl_worker *worker)
{
    for (uint32_t i = 0; i < worker->count; i++) {
        struct pl_stream *stream = worker->streams[i];
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = PL_DATAGRAM_EVENT(i, false)};
        struct epoll_event datagrams = {.events = EPOLLIN, .data.u64 = PL_DATAGRAM_EVENT(i, true)};
        worker->calls += 2;
        if ((worker->listens && epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event) != 0) ||
            (worker->role == ROLE_SINK &&
             epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, stream->link->fd, &datagrams) != 0))
            pl_datagram_fail(worker, stream, errno);
    }
}

void pl_datagram_worker_run(struct pl_worker *worker)
{
    static const struct pl_statement start = {.kind = PL_STATEMENT_START};
    watch(worker);
    for (uint32_t i = 0; worker->listens && !worker->shared->accepting && i < worker->count; i++)
        pl_datagram_state(worker, worker->streams[i], &start);
    if (worker->role == ROLE_SINK)
        pl_datagram_sink_run(worker);
    else
        pl_datagram_source_run(worker);
}
