#include "flow/round_trips.h"

#include "flow/endpoint.h"
#include "flow/phases.h"

static bool write_interval(struct pl_json *j, const struct pl_latency_slot *slot, uint32_t stream,
                           enum pl_phase phase)
{
    pl_json_begin_object(j, NULL);
    pl_json_string(j, "type", "round_trips");
    pl_json_string(j, "phase", pl_phase_name(phase));
    pl_json_u64(j, "stream", stream);
    pl_json_i64(j, "start_ns", slot->start_ns);
    pl_json_i64(j, "end_ns", slot->end_ns);
    pl_histogram_write(&slot->durations, j, "round_trip_ns");
    pl_json_end_object(j);
    return pl_json_flush_line(j);
}

static enum pl_phase find_phase(const struct pl_flow *flow, pl_ns at_ns)
{
    if (at_ns < flow->warmup_ns)
        return PL_WARMUP;
    return flow->bytes == 0 && at_ns >= flow->warmup_ns + flow->duration_ns ? PL_DRAIN : PL_STEADY;
}

bool pl_round_trips_collect(struct pl_round_trips *trips, const struct pl_flow *flow,
                            struct pl_stream *streams, struct pl_json *j)
{
    bool written = true;
    for (uint32_t s = 0; trips != NULL && s < (uint32_t)flow->streams; s++) {
        struct pl_latency_log *log = streams[s].endpoint->round_trips;
        const struct pl_latency_slot *slot;
        while (log != NULL && (slot = pl_latency_log_next(log)) != NULL) {
            enum pl_phase phase = find_phase(flow, slot->start_ns);
            if (phase == PL_STEADY)
                pl_histogram_merge(&trips->steady, &slot->durations);
            if (j != NULL && slot->durations.count > 0)
                written = write_interval(j, slot, s, phase) && written;
            pl_latency_log_release(log);
        }
    }
    return written;
}
