#include "streams/stream_flow.h"

#include <string.h>

#include "base/limits.h"

/* Measured (benchmarks/): a worker with one stream gains from larger calls, one with several streams shares
 * the caches among them. */
#define SOLE_CHUNK_BYTES 1048576
#define SHARED_CHUNK_BYTES 524288
/* A write is an SCTP message; the kernel refuses one that does not fit the send buffer. */
#define SCTP_MESSAGE_BYTES (32 << 10)
/* A paced stream writes what its rate allows in this time. */
#define PACED_WRITE_NS PL_NS_PER_MS

static int64_t choose_chunk_bytes(const struct pl_flow *flow)
{
    return flow->zero_copy || flow->streams <= flow->workers ? SOLE_CHUNK_BYTES : SHARED_CHUNK_BYTES;
}

static int64_t choose_write_bytes(const struct pl_flow *flow)
{
    int64_t bytes = choose_chunk_bytes(flow);
    if (flow->transport == PL_SCTP && bytes > SCTP_MESSAGE_BYTES)
        bytes = SCTP_MESSAGE_BYTES;
    if (flow->window_bytes > 0 && bytes > flow->window_bytes / 4)
        bytes = flow->window_bytes / 4;
    if (flow->pacing != PL_PACING_OFF) {
        int64_t step = pl_flow_stream_rate(flow) / 8 / (PL_NS_PER_S / PACED_WRITE_NS);
        bytes = step < bytes ? step : bytes;
    }
    return bytes > 0 ? bytes : 1;
}

void pl_stream_flow_count_workers(struct pl_flow *flow)
{
    if (flow->workers == 0)
        flow->workers = pl_count_cores();
    if (flow->streams > 0 && flow->workers > flow->streams)
        flow->workers = flow->streams;
}

void pl_stream_flow_fit(struct pl_flow *flow)
{
    bool kernel = flow->transport == PL_TCP && strcmp(flow->pacing_text, "user") != 0;
    if (flow->rate_bits_per_s > 0 || flow->stream_rate_bits_per_s > 0)
        flow->pacing = kernel ? PL_PACING_KERNEL : PL_PACING_USER;
    if (flow->write_bytes == 0 && flow->streams > 0) {
        flow->write_bytes = choose_write_bytes(flow);
        flow->writes_chosen = true;
    }
    flow->held_window_bytes = flow->window_bytes;
    if (flow->read_bytes == 0 && flow->streams > 0)
        flow->read_bytes = choose_chunk_bytes(flow);
}

void pl_stream_flow_derive(struct pl_flow *flow)
{
    pl_stream_flow_count_workers(flow);
    pl_stream_flow_fit(flow);
}
