#include "messages/message_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "messages/endpoint.h"
#include "messages/message_samples.h"

static void print_sending(const struct pl_message_settings *messages)
{
    if (messages->rate_per_s > 0)
        (void)printf(", %lld/s offered", (long long)messages->rate_per_s);
    if (messages->batch_bytes > 0)
        (void)printf(", batches of %lld bytes", (long long)messages->batch_bytes);
    if (messages->cork)
        (void)printf(", corked");
}

void pl_message_text_settings(const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    const struct pl_message_settings *messages = &flow->messages;
    const char *carrier = pl_carrier_name(messages->carrier);
    (void)printf("messages of %lld bytes, %s%s%s%s", (long long)messages->bytes,
                 pl_encoding_name(messages->encoding), carrier != NULL ? " by " : "",
                 carrier != NULL ? carrier : "", messages->replies ? ", returned" : "");
    if (!flow->accepting)
        print_sending(messages);
    if (messages->placement != PL_PLACEMENT_FUSED)
        (void)printf(", %s", messages->polls ? "polling" : "blocking");
    if (messages->priority > 0)
        (void)printf(", priority %lld%s", (long long)messages->priority,
                     pl_pool_priority(counters->pool) > 0 ? "" : " not permitted");
    (void)printf("\n");
}

static void print_rate(const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    const struct pl_span *steady = &counters->phases.spans[PL_STEADY];
    const struct pl_message_samples *samples = counters->samples;
    uint64_t sum = 0;
    for (uint32_t s = 0; s < counters->count; s++)
        sum += samples->counts.phases[PL_STEADY][s];
    double seconds = (double)(steady->end_ns - steady->start_ns) / 1e9;
    (void)printf("messages of %lld bytes %s: %.0f/s", (long long)flow->messages.bytes,
                 flow->messages.replies && !flow->accepting ? "returned"
                 : flow->receives                           ? "received"
                                                            : "sent",
                 seconds > 0 ? (double)sum / seconds : 0.0);
    if (flow->transmits && !flow->accepting && flow->messages.rate_per_s > 0)
        (void)printf(" of %lld/s offered", (long long)flow->messages.rate_per_s);
}

/* A receiver of datagrams cannot know of those that were lost after the last one that came. */
static void print_order(const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    bool counts_sent = flow->messages.replies && !flow->accepting;
    bool knows_all = counts_sent || !pl_carrier_is_datagram(flow->messages.carrier);
    uint64_t missing = 0;
    uint64_t out_of_order = 0;
    for (uint32_t s = 0; s < counters->count; s++) {
        const struct pl_endpoint *endpoint = counters->streams[s].endpoint;
        uint64_t sent = atomic_load(&endpoint->sent);
        uint64_t received = atomic_load(&endpoint->received);
        missing += counts_sent && sent > received ? sent - received : atomic_load(&endpoint->missing);
        out_of_order += atomic_load(&endpoint->out_of_order);
    }
    if (flow->receives && missing + out_of_order == 0)
        (void)printf(knows_all ? ", complete and in order" : ", no gap, in order");
    else if (flow->receives)
        (void)printf(", %" PRIu64 " missing, %" PRIu64 " out of order", missing, out_of_order);
    (void)printf("\n");
}

static void print_round_trips(const struct pl_histogram *found)
{
    static const struct {
        const char *name;
        double ratio;
        uint64_t above; /* one sample in so many is above it */
    } quantiles[] = {{"median", 0.5, 2},
                     {"p99", 0.99, 100},
                     {"p99.9", 0.999, 1000},
                     {"p99.99", 0.9999, 10000},
                     {"max", 1.0, 0}};
    if (found->count == 0) {
        (void)printf("no round trip was completed in the steady window\n");
        return;
    }
    (void)printf("round trips in us: min %.1f", (double)found->min_ns / 1e3);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        pl_ns value_ns = 0;
        if (!pl_histogram_supports(found, quantiles[i].above))
            continue;
        (void)pl_histogram_quantile(found, quantiles[i].ratio, &value_ns);
        (void)printf(", %s %.1f", quantiles[i].name, (double)value_ns / 1e3);
    }
    (void)printf("\n");
}

void pl_message_text_result(const struct pl_counters *counters)
{
    const struct pl_message_samples *samples = counters->samples;
    print_rate(counters);
    print_order(counters);
    if (samples->timed)
        print_round_trips(&samples->round_trips.steady);
}
