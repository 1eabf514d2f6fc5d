#include "streams/stream_kind.h"

#include "base/relaxed.h"
#include "flow/flow.h"
#include "flow/sockopts.h"
#include "flow/stream.h"
#include "streams/backlog.h"
#include "streams/stream_flow.h"
#include "streams/stream_worker.h"

static bool prepare_stream(const struct pl_flow *flow, struct pl_stream *stream, struct pl_error *error)
{
    if (pl_transport_is_tcp(flow->transport))
        (void)pl_backlog_open(&stream->backlog, stream->fd);
    return flow->pacing != PL_PACING_KERNEL || pl_pace_stream(stream->fd, pl_flow_stream_rate(flow), error);
}

static bool has_all(const struct pl_flow *flow, const struct pl_stream *streams)
{
    uint64_t sum = 0;
    for (uint32_t s = 0; s < (uint32_t)flow->streams; s++)
        sum += pl_load_relaxed(&streams[s].received_bytes);
    return sum >= (uint64_t)flow->bytes;
}

const struct pl_flow_kind pl_stream_kind = {
    .protocol = "streams",
    .by_streams = true,
    .derive = pl_stream_flow_derive,
    .prepare_stream = prepare_stream,
    .run = pl_stream_worker_run,
    .has_all = has_all,
};
