#include "flow/flow.h"

#include "flow/hello.h"

uint16_t pl_flow_direction(const struct pl_flow *flow)
{
    bool forward = flow->accepting ? flow->receives : flow->transmits;
    bool reverse = flow->accepting ? flow->transmits : flow->receives;
    return (uint16_t)((forward ? PL_HELLO_FORWARD : 0) | (reverse ? PL_HELLO_REVERSE : 0) |
                      (flow->messages.replies ? PL_HELLO_REPLIES : 0));
}

uint64_t pl_flow_descriptors(const struct pl_flow *flow, int64_t streams)
{
    return (uint64_t)((flow->udp ? 2 : 1) * streams + 7 * flow->workers);
}

int64_t pl_flow_stream_rate(const struct pl_flow *flow)
{
    int64_t share = flow->streams > 0 ? flow->rate_bits_per_s / flow->streams : 0;
    if (flow->rate_bits_per_s > 0 && share == 0)
        share = 1;
    if (flow->stream_rate_bits_per_s > 0 && (share == 0 || flow->stream_rate_bits_per_s < share))
        share = flow->stream_rate_bits_per_s;
    return share;
}

uint64_t pl_flow_stream_bytes(const struct pl_flow *flow, uint32_t stream)
{
    uint64_t bytes = (uint64_t)flow->bytes;
    uint64_t streams = (uint64_t)flow->streams;
    return bytes / streams + (stream < bytes % streams ? 1 : 0);
}

uint64_t pl_flow_stream_messages(const struct pl_flow *flow, uint32_t stream)
{
    return pl_flow_stream_bytes(flow, stream) / (uint64_t)flow->messages.bytes;
}

void pl_flow_fit_segments(struct pl_flow *flow, int64_t mss_bytes)
{
    /* A window of fewer than four segments is left as it is. */
    if (mss_bytes <= 0 || flow->window_bytes < 4 * mss_bytes)
        return;
    flow->held_window_bytes = (flow->window_bytes + mss_bytes / 2) / mss_bytes * mss_bytes;
    if (flow->writes_chosen && flow->write_bytes > mss_bytes)
        flow->write_bytes -= flow->write_bytes % mss_bytes;
}
