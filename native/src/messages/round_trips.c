#include "messages/round_trips.h"

#include "base/record.h"
#include "flow/phases.h"

static bool write_interval(struct pl_json *j, const struct pl_latency_slot *slot, uint32_t stream,
                           enum pl_phase phase)
{
    const struct pl_flow_round_trips_record record = {
        .phase = pl_phase_name(phase),
        .stream = stream,
        .start_ns = slot->start_ns,
        .end_ns = slot->end_ns,
        .round_trip_ns = &slot->durations,
    };
    return pl_record_write(j, &pl_flow_round_trips_type, &record);
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
