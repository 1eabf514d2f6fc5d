#include "messages/message_kind.h"

#include "flow/stream.h"
#include "messages/endpoint.h"
#include "messages/message_flow.h"
#include "messages/message_report.h"
#include "messages/message_worker.h"

static void *open_endpoints(const struct pl_flow *flow, struct pl_stream *streams, struct pl_error *error)
{
    return pl_endpoints_open(flow, streams, error);
}

static void close_endpoints(void *endpoints, const struct pl_flow *flow)
{
    pl_endpoints_free(endpoints, (uint32_t)flow->streams);
}

static int find_data_fd(const struct pl_stream *stream)
{
    const struct pl_channel *channel = &stream->endpoint->channel;
    if (channel->carrier == PL_CARRIER_STREAM)
        return stream->fd;
    return pl_carrier_is_datagram(channel->carrier) ? channel->read_fd : -1;
}

/* Of messages the whole ones; datagrams may be lost on the way. */
static bool has_all(const struct pl_flow *flow, const struct pl_stream *streams)
{
    for (uint32_t s = 0; s < (uint32_t)flow->streams && !pl_carrier_is_datagram(flow->messages.carrier); s++)
        if (pl_endpoint_messages(streams[s].endpoint, true) < pl_flow_stream_messages(flow, s))
            return false;
    return true;
}

const struct pl_flow_kind pl_message_kind = {
    .protocol = "messages",
    .by_streams = true,
    .one_role = true,
    .own_data = true,
    .long_calls = true,
    .derive = pl_message_flow_derive,
    .prepare_worker = pl_message_prepare,
    .run = pl_message_worker_run,
    .kick = pl_message_kick,
    .open = open_endpoints,
    .close = close_endpoints,
    .find_data_fd = find_data_fd,
    .has_all = has_all,
    .counts = &pl_message_report,
};
