#include "messages/message_samples.h"

#include <stdlib.h>

#include "messages/endpoint.h"

void *pl_message_samples_create(const struct pl_flow *flow)
{
    struct pl_message_samples *samples = calloc(1, sizeof *samples);
    if (samples == NULL)
        return NULL;
    samples->timed = flow->messages.replies && !flow->accepting;
    samples->round_trips.warmup_ns = flow->warmup_ns;
    samples->round_trips.steady_end_ns = flow->bytes == 0 ? flow->warmup_ns + flow->duration_ns : INT64_MAX;
    if (pl_byte_counters_create(&samples->counts, (uint32_t)flow->streams))
        return samples;
    pl_message_samples_free(samples);
    return NULL;
}

void pl_message_samples_free(void *of)
{
    struct pl_message_samples *samples = of;
    pl_byte_counters_free(&samples->counts);
    free(samples);
}

void pl_message_samples_take(void *of, const struct pl_counters *counters)
{
    struct pl_message_samples *samples = of;
    pl_byte_counters_swap(&samples->counts);
    for (uint32_t s = 0; s < counters->count; s++)
        samples->counts.current[s] =
            pl_endpoint_messages(counters->streams[s].endpoint, counters->flow->receives);
}

void pl_message_samples_close_interval(void *of, const struct pl_counters *counters, enum pl_phase phase,
                                       bool enters)
{
    struct pl_message_samples *samples = of;
    (void)enters;
    pl_byte_counters_add_interval(&samples->counts, phase, counters->count);
}

bool pl_message_samples_collect(void *of, const struct pl_counters *counters, struct pl_json *j)
{
    struct pl_message_samples *samples = of;
    bool written = true;
    for (uint32_t s = 0; samples->timed && s < counters->count; s++) {
        struct pl_latency_log *log = counters->streams[s].endpoint->round_trips;
        if (log != NULL)
            written = pl_round_trips_collect(&samples->round_trips, log, s, j) && written;
    }
    return written;
}
