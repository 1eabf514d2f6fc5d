#include "messages/message_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow/byte_counters.h"
#include "flow/counters.h"
#include "messages/endpoint.h"
#include "messages/recording_cost.h"
#include "messages/round_trips.h"

/* The counts at the boundaries of the intervals, and the round trips. */
struct pl_message_samples {
    struct pl_byte_counters counts; /* received, or, at an end that only sends, sent */
    bool timed;                     /* this end's messages are returned */
    struct pl_round_trips round_trips;
};

static void free_samples(void *of)
{
    struct pl_message_samples *samples = of;
    pl_byte_counters_free(&samples->counts);
    free(samples);
}

static void *create_samples(const struct pl_flow *flow)
{
    struct pl_message_samples *samples = calloc(1, sizeof *samples);
    if (samples == NULL)
        return NULL;
    samples->timed = flow->messages.replies && !flow->accepting;
    samples->round_trips.warmup_ns = flow->warmup_ns;
    samples->round_trips.steady_end_ns = flow->bytes == 0 ? flow->warmup_ns + flow->duration_ns : INT64_MAX;
    if (pl_byte_counters_create(&samples->counts, (uint32_t)flow->streams))
        return samples;
    free_samples(samples);
    return NULL;
}

static void take_samples(void *of, const struct pl_counters *counters)
{
    struct pl_message_samples *samples = of;
    pl_byte_counters_swap(&samples->counts);
    for (uint32_t s = 0; s < counters->count; s++)
        samples->counts.current[s] =
            pl_endpoint_messages(counters->streams[s].endpoint, counters->flow->receives);
}

static void close_interval(void *of, const struct pl_counters *counters, enum pl_phase phase, bool enters)
{
    struct pl_message_samples *samples = of;
    (void)enters;
    pl_byte_counters_add_interval(&samples->counts, phase, counters->count);
}

static bool collect(void *of, const struct pl_counters *counters, struct pl_json *j)
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

static void write_settings(struct pl_json *j, const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    const struct pl_message_settings *messages = &flow->messages;
    int64_t granted = pl_pool_priority(counters->pool);
    pl_json_begin_object(j, "messages");
    pl_json_i64(j, "bytes", messages->bytes);
    pl_json_string(j, "encoding", pl_encoding_name(messages->encoding));
    pl_json_string(j, "carrier", pl_carrier_name(messages->carrier));
    pl_json_string(j, "placement", pl_placement_name(messages->placement));
    pl_json_bool(j, "replies", messages->replies);
    pl_json_string(j, "wait", messages->polls ? "poll" : "block");
    pl_json_known_i64(j, "priority", granted > 0 ? granted : -1);
    if (flow->transmits && !flow->accepting) {
        pl_json_known_i64(j, "offered_per_s", messages->rate_per_s > 0 ? messages->rate_per_s : -1);
        pl_json_known_i64(j, "batch_bytes", messages->batch_bytes > 0 ? messages->batch_bytes : -1);
        pl_json_known_i64(j, "batch_min_delay_ns",
                          messages->batch_bytes > 0 ? messages->batch_min_delay_ns : -1);
        pl_json_known_i64(j, "batch_max_delay_ns",
                          messages->batch_max_delay_ns > 0 ? messages->batch_max_delay_ns : -1);
        pl_json_bool(j, "cork", messages->cork);
    }
    if (messages->replies && !flow->accepting) {
        struct pl_recording_cost cost = pl_measure_recording();
        pl_json_double(j, "clock_ns", cost.clock_ns);
        pl_json_double(j, "record_ns", cost.record_ns);
    }
    pl_json_end_object(j);
}

static void write_interval(struct pl_json *j, const struct pl_counters *counters)
{
    const struct pl_message_samples *samples = counters->samples;
    pl_byte_counters_write_steps(j, "messages", &samples->counts, counters->count);
}

static void write_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase)
{
    const struct pl_message_samples *samples = counters->samples;
    pl_json_u64s(j, "messages", samples->counts.phases[phase], counters->count);
}

/* What each end counts of a stream. */
static const struct {
    const char *key;
    size_t offset; /* in its endpoint */
    bool received;
} counts[] = {
    {"sent", offsetof(struct pl_endpoint, sent), false},
    {"send_calls", offsetof(struct pl_endpoint, batches), false},
    {"received", offsetof(struct pl_endpoint, received), true},
    {"missing", offsetof(struct pl_endpoint, missing), true},
    {"out_of_order", offsetof(struct pl_endpoint, out_of_order), true},
};

static void write_counts(struct pl_json *j, const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        if (!(counts[c].received ? flow->receives : flow->transmits))
            continue;
        pl_json_begin_array(j, counts[c].key);
        for (uint32_t s = 0; s < counters->count; s++) {
            const char *endpoint = (const char *)counters->streams[s].endpoint;
            pl_json_u64(j, NULL, atomic_load((const _Atomic uint64_t *)(endpoint + counts[c].offset)));
        }
        pl_json_end_array(j);
    }
}

/* Times after the start of the trial; unknown where nothing arrived. */
static void find_arrivals(const struct pl_counters *counters, uint32_t stream, int phase, int64_t *numbers)
{
    const struct pl_endpoint *endpoint = counters->streams[stream].endpoint;
    const int64_t at_ns[] = {atomic_load(&endpoint->first_arrival_ns),
                             atomic_load(&endpoint->last_arrival_ns)};
    (void)phase;
    for (int i = 0; i < 2; i++)
        numbers[i] = at_ns[i] == 0 || !counters->started ? -1 : at_ns[i] - counters->start_ns;
}

static void write_result(struct pl_json *j, const struct pl_counters *counters)
{
    static const char *const arrivals[] = {"first_arrival_ns", "last_arrival_ns"};
    const struct pl_flow *flow = counters->flow;
    pl_json_begin_object(j, "messages");
    write_counts(j, counters);
    if (flow->receives)
        pl_counters_write(j, counters, arrivals, 2, find_arrivals, 0);
    if (flow->transmits && !flow->accepting && flow->messages.rate_per_s > 0) {
        struct pl_histogram *lateness = &counters->streams[0].endpoint->send_lateness;
        for (uint32_t s = 1; s < counters->count; s++)
            pl_histogram_merge(lateness, &counters->streams[s].endpoint->send_lateness);
        pl_histogram_write_summary(lateness, j, "send_error_ns");
    }
    const struct pl_message_samples *samples = counters->samples;
    if (samples->timed)
        pl_histogram_write(&samples->round_trips.steady, j, "round_trip_ns");
    pl_json_end_object(j);
}

static void print_sending(const struct pl_message_settings *messages)
{
    if (messages->rate_per_s > 0)
        (void)printf(", %lld/s offered", (long long)messages->rate_per_s);
    if (messages->batch_bytes > 0)
        (void)printf(", batches of %lld bytes", (long long)messages->batch_bytes);
    if (messages->cork)
        (void)printf(", corked");
}

static void print_settings(const struct pl_counters *counters)
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
        uint64_t above; /* one sample of this number is above it */
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

static void print_result(const struct pl_counters *counters)
{
    const struct pl_message_samples *samples = counters->samples;
    print_rate(counters);
    print_order(counters);
    if (samples->timed)
        print_round_trips(&samples->round_trips.steady);
}

const struct pl_kind_counts pl_message_report = {
    .create = create_samples,
    .free = free_samples,
    .take = take_samples,
    .close_interval = close_interval,
    .collect = collect,
    .write_settings = write_settings,
    .write_interval = write_interval,
    .write_phase = write_phase,
    .write_result = write_result,
    .print_settings = print_settings,
    .print_result = print_result,
};
