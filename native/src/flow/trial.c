#include "flow/trial.h"

#include "base/events.h"
#include "flow/delivery.h"
#include "flow/display.h"
#include "flow/flow_kind.h"
#include "flow/records.h"

void pl_trial_close(struct pl_trial *trial)
{
    pl_counters_free(trial->counters);
    pl_json_release(&trial->json);
}

static bool is_human(const struct pl_trial *trial)
{
    return trial->counters->flow->human;
}

bool pl_trial_ready(struct pl_trial *trial, int64_t rejected)
{
    return is_human(trial) ? pl_display_ready(trial->counters)
                           : pl_records_ready(&trial->json, trial->counters, rejected);
}

bool pl_trial_start(struct pl_trial *trial, pl_ns start_ns)
{
    pl_counters_start(trial->counters, start_ns);
    return is_human(trial) || pl_records_start(&trial->json, trial->counters);
}

pl_ns pl_trial_next_ns(const struct pl_trial *trial)
{
    const struct pl_counters *counters = trial->counters;
    return counters->started ? counters->start_ns + pl_phases_next_ns(&counters->phases) : PL_NEVER;
}

uint64_t pl_trial_progress(const struct pl_trial *trial)
{
    const struct pl_counters *counters = trial->counters;
    uint64_t sum = pl_pool_state(counters->pool).closed;
    for (uint32_t s = 0; s < counters->count; s++)
        sum += pl_delivery_progress(&counters->streams[s], counters->flow->transport);
    return sum;
}

static bool collect(struct pl_trial *trial)
{
    const struct pl_counters *counters = trial->counters;
    const struct pl_kind_counts *counts = counters->kind->counts;
    return counts == NULL || counts->collect == NULL ||
           counts->collect(counters->samples, counters, is_human(trial) ? NULL : &trial->json);
}

void pl_trial_note_late(struct pl_trial *trial, pl_ns late_ns)
{
    struct pl_counters *counters = trial->counters;
    if (late_ns > counters->late_ns)
        counters->late_ns = late_ns;
}

bool pl_trial_sample(struct pl_trial *trial)
{
    struct pl_counters *counters = trial->counters;
    pl_counters_close_interval(counters);
    bool written =
        is_human(trial) ? pl_display_interval(counters) : pl_records_interval(&trial->json, counters);
    return collect(trial) && written;
}

bool pl_trial_cut(struct pl_trial *trial)
{
    bool written = pl_trial_sample(trial);
    pl_phases_cut(&trial->counters->phases);
    return written;
}

bool pl_trial_finish(struct pl_trial *trial, const struct pl_ending *ending)
{
    struct pl_counters *counters = trial->counters;
    pl_pool_join(counters->pool);
    bool written = true;
    if (counters->started)
        written = pl_trial_sample(trial);
    else
        pl_counters_sample(counters);
    pl_phases_finish(&counters->phases);
    pl_counters_close_delivery(counters, ending->resets);
    return (is_human(trial) ? pl_display_result(counters, ending)
                            : pl_records_result(&trial->json, counters, ending)) &&
           written;
}
