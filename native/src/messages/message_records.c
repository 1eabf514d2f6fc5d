#include "messages/message_records.h"

#include "messages/endpoint.h"
#include "messages/message_samples.h"
#include "messages/recording_cost.h"

void pl_message_records_settings(struct pl_json *j, const struct pl_counters *counters)
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

void pl_message_records_interval(struct pl_json *j, const struct pl_counters *counters)
{
    const struct pl_message_samples *samples = counters->samples;
    pl_byte_counters_write_steps(j, "messages", &samples->counts, counters->count);
}

void pl_message_records_phase(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase)
{
    const struct pl_message_samples *samples = counters->samples;
    pl_byte_counters_write_phase(j, "messages", &samples->counts, phase, counters->count);
}

typedef uint64_t (*count_of)(const struct pl_endpoint *endpoint);

static uint64_t sent_of(const struct pl_endpoint *endpoint)
{
    return atomic_load(&endpoint->sent);
}

static uint64_t calls_of(const struct pl_endpoint *endpoint)
{
    return atomic_load(&endpoint->batches);
}

static uint64_t received_of(const struct pl_endpoint *endpoint)
{
    return atomic_load(&endpoint->received);
}

static uint64_t missing_of(const struct pl_endpoint *endpoint)
{
    return atomic_load(&endpoint->missing);
}

static uint64_t out_of_order_of(const struct pl_endpoint *endpoint)
{
    return atomic_load(&endpoint->out_of_order);
}

static void write_counts(struct pl_json *j, const char *key, const struct pl_counters *counters,
                         count_of count)
{
    pl_json_begin_array(j, key);
    for (uint32_t s = 0; s < counters->count; s++)
        pl_json_u64(j, NULL, count(counters->streams[s].endpoint));
    pl_json_end_array(j);
}

/* Times after the start of the trial; null where nothing arrived. */
static void write_arrivals(struct pl_json *j, const struct pl_counters *counters)
{
    static const char *const keys[] = {"first_arrival_ns", "last_arrival_ns"};
    for (int last = 0; last < 2; last++) {
        pl_json_begin_array(j, keys[last]);
        for (uint32_t s = 0; s < counters->count; s++) {
            const struct pl_endpoint *endpoint = counters->streams[s].endpoint;
            int64_t at_ns = atomic_load(last == 0 ? &endpoint->first_arrival_ns : &endpoint->last_arrival_ns);
            pl_json_known_i64(j, NULL, at_ns == 0 || !counters->started ? -1 : at_ns - counters->start_ns);
        }
        pl_json_end_array(j);
    }
}

void pl_message_records_result(struct pl_json *j, const struct pl_counters *counters)
{
    const struct pl_flow *flow = counters->flow;
    pl_json_begin_object(j, "messages");
    if (flow->transmits) {
        write_counts(j, "sent", counters, sent_of);
        write_counts(j, "send_calls", counters, calls_of);
    }
    if (flow->receives) {
        write_counts(j, "received", counters, received_of);
        write_counts(j, "missing", counters, missing_of);
        write_counts(j, "out_of_order", counters, out_of_order_of);
        write_arrivals(j, counters);
    }
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
