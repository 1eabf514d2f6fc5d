#include "messages/endpoint.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/free_memory.h"
#include "base/relaxed.h"
#include "flow/flow.h"
#include "flow/sockopts.h"
#include "flow/stream.h"
#include "messages/channel_setup.h"

/* For the peer to make its part of the channels of all streams. */
#define SETUP_TIMEOUT_NS (5 * PL_NS_PER_S)
/* Of the free memory, left to the rest of both ends. */
#define SPARED_BYTES (INT64_C(16) << 20)

/* The content of every message; all of them have the same. */
static uint8_t content[PL_MESSAGE_MAX_BYTES];

static struct pl_endpoint *create(uint32_t count)
{
    struct pl_endpoint *endpoints = aligned_alloc(alignof(struct pl_endpoint), count * sizeof *endpoints);
    if (endpoints == NULL)
        return NULL;
    memset(endpoints, 0, count * sizeof *endpoints);
    for (uint32_t i = 0; i < count; i++)
        endpoints[i].channel.stream_fd = endpoints[i].channel.read_fd = endpoints[i].channel.write_fd = -1;
    return endpoints;
}

static bool cork(const struct pl_flow *flow, int fd, struct pl_error *error)
{
    if (!flow->messages.cork || pl_set_option(fd, IPPROTO_TCP, TCP_CORK, 1))
        return true;
    return pl_error_set(error, PL_SETUP, "socket", errno, "--cork is for TCP only");
}

/* Queues count against the limit of memory, which the kernel does not apply to shared memory. Where memory is
 * short it does not refuse them either: it ends a process. The end that makes them looks before. */
static bool check_queues(const struct pl_flow *flow, struct pl_error *error)
{
    const struct pl_message_settings *messages = &flow->messages;
    bool rings = messages->carrier == PL_CARRIER_RING || messages->carrier == PL_CARRIER_EVENT;
    int64_t queues = rings ? 2 : messages->placement == PL_PLACEMENT_THREADED ? 1 : 0;
    int64_t bytes = queues * flow->streams * messages->queue_bytes;
    bool within = bytes <= flow->memory_limit_bytes;
    bool makes = bytes > 0 && (flow->accepting || !rings);
    int64_t free_bytes = within && makes ? pl_read_free_memory("") - SPARED_BYTES : INT64_MAX;
    if (within && bytes <= free_bytes)
        return true;
    char most[64] = "--memory-limit-bytes";
    if (within)
        (void)snprintf(most, sizeof most, "the %lld bytes of memory that are free",
                       (long long)(free_bytes > 0 ? free_bytes : 0));
    return pl_error_set(
        error, PL_RESOURCES, "queue", 0,
        "the queues of %lld streams take %lld bytes, more than %s: use a smaller --queue-bytes or "
        "fewer streams",
        (long long)flow->streams, (long long)bytes, most);
}

static bool set_socket(int fd, int family, const void *context, struct pl_error *error)
{
    return pl_set_data_socket(fd, family, context, error);
}

static bool open_endpoint(struct pl_endpoint *endpoint, const struct pl_flow *flow, struct pl_stream *stream,
                          pl_ns deadline_ns, struct pl_error *error)
{
    const struct pl_message_settings *messages = &flow->messages;
    const struct pl_channel_settings settings = {.carrier = messages->carrier,
                                                 .polls = messages->polls,
                                                 .queue_bytes = (size_t)messages->queue_bytes,
                                                 .udp = {.accepting = flow->accepting,
                                                         .deadline_ns = deadline_ns,
                                                         .set_socket = set_socket,
                                                         .context = flow}};
    stream->endpoint = endpoint;
    bool apart = messages->placement == PL_PLACEMENT_APART;
    if (!(apart ? pl_channel_open(&endpoint->channel, stream->fd, &settings, error) &&
                      cork(flow, stream->fd, error)
                : pl_channel_open_queue(&endpoint->channel, settings.queue_bytes, settings.polls, error)))
        return false;
    bool complete = true;
    if (flow->transmits)
        complete = pl_batch_open(&endpoint->batch, messages, content);
    if (messages->replies && !flow->accepting) {
        endpoint->round_trips = pl_latency_log_create(flow->interval_ns, flow->warmup_ns);
        complete = complete && endpoint->round_trips != NULL;
    }
    if (!complete)
        pl_error_set(error, PL_RESOURCES, "streams", ENOMEM, "no memory for the messages of stream %u",
                     stream->number);
    return complete;
}

struct pl_endpoint *pl_endpoints_open(const struct pl_flow *flow, struct pl_stream *streams,
                                      struct pl_error *error)
{
    uint32_t count = (uint32_t)flow->streams;
    if (!check_queues(flow, error))
        return NULL;
    pl_ns deadline_ns = pl_now_ns() + SETUP_TIMEOUT_NS;
    struct pl_endpoint *endpoints = create(count);
    if (endpoints == NULL) {
        pl_error_set(error, PL_RESOURCES, "streams", ENOMEM, "no memory for the messages of %u streams",
                     count);
        return NULL;
    }
    pl_fill_incompressible(content, sizeof content);
    for (uint32_t i = 0; i < count; i++)
        if (!open_endpoint(&endpoints[i], flow, &streams[i], deadline_ns, error)) {
            pl_endpoints_free(endpoints, count);
            return NULL;
        }
    return endpoints;
}

void pl_endpoints_free(struct pl_endpoint *endpoints, uint32_t count)
{
    for (uint32_t i = 0; endpoints != NULL && i < count; i++) {
        pl_channel_close(&endpoints[i].channel);
        pl_batch_close(&endpoints[i].batch);
        free(endpoints[i].round_trips);
    }
    free(endpoints);
}

uint64_t pl_endpoint_messages(const struct pl_endpoint *endpoint, bool received)
{
    if (endpoint == NULL)
        return 0;
    return pl_load_relaxed(received ? &endpoint->received : &endpoint->sent);
}
