#include "datagrams/datagram_kind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "datagrams/datagram_flow.h"
#include "datagrams/datagram_link.h"
#include "datagrams/datagram_report.h"
#include "datagrams/datagram_worker.h"
#include "flow/flow.h"
#include "flow/stream.h"

static void *open_links(const struct pl_flow *flow, struct pl_stream *streams, struct pl_error *error)
{
    return pl_datagram_links_open(flow, streams, error);
}

static void close_links(void *links, const struct pl_flow *flow)
{
    (void)flow;
    pl_datagram_links_free(links);
}

static int find_data_fd(const struct pl_stream *stream)
{
    return stream->link->fd;
}

static bool describe_failure(const struct pl_flow *flow, const struct pl_stream *stream, int failure,
                             char *text, size_t bytes)
{
    if (failure == EMSGSIZE)
        (void)snprintf(text, bytes, "the path's MTU does not carry --datagram-bytes %lld: use fewer",
                       (long long)flow->datagrams.bytes);
    else if (atomic_load(&stream->link->send_failure) == failure)
        (void)snprintf(text, bytes, "this end could not send a datagram: %s%s", strerror(failure),
                       flow->datagrams.gso ? ": leave out --gso, which not every device can do" : "");
    else
        return false;
    return true;
}

/* Without has_all(): a flow of datagrams is by time. */
const struct pl_flow_kind pl_datagram_kind = {
    .protocol = "datagrams",
    .transport = "udp",
    .long_calls = true,
    .derive = pl_datagram_flow_derive,
    .count_threads = pl_datagram_threads,
    .prepare_worker = pl_datagram_prepare,
    .run = pl_datagram_worker_run,
    .open = open_links,
    .close = close_links,
    .find_data_fd = find_data_fd,
    .describe_failure = describe_failure,
    .counts = &pl_datagram_report,
};
