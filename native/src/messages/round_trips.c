#include "messages/round_trips.h"

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

static enum pl_phase find_phase(const struct pl_round_trips *trips, pl_ns at_ns)
{
    if (at_ns < trips->warmup_ns)
        return PL_WARMUP;
    return at_ns >= trips->steady_end_ns ? PL_DRAIN : PL_STEADY;
}

bool pl_round_trips_collect(struct pl_round_trips *trips, struct pl_latency_log *log, uint32_t stream,
                            struct pl_json *j)
{
    bool written = true;
    const struct pl_latency_slot *slot;
    while ((slot = pl_latency_log_next(log)) != NULL) {
        enum pl_phase phase = find_phase(trips, slot->start_ns);
        if (phase == PL_STEADY)
            pl_histogram_merge(&trips->steady, &slot->durations);
        if (j != NULL && slot->durations.count > 0)
            written = write_interval(j, slot, stream, phase) && written;
        pl_latency_log_release(log);
    }
    return written;
}
