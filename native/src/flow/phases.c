#include "flow/phases.h"

static const char *const names[PL_PHASE_COUNT] = {"warmup", "steady", "drain"};

const char *pl_phase_name(enum pl_phase phase)
{
    return names[phase];
}

/* The grid of a phase begins at its planned start, so that lateness does not add up. */
static void enter_next(struct pl_phases *phases, pl_ns now_ns, pl_ns grid_ns)
{
    phases->spans[phases->current].end_ns = now_ns;
    phases->current = phases->current == PL_WARMUP ? PL_STEADY : PL_DRAIN;
    phases->spans[phases->current].start_ns = now_ns;
    phases->grid_ns = grid_ns;
}

static void enter_due(struct pl_phases *phases, pl_ns now_ns)
{
    while (phases->current != PL_DRAIN && now_ns >= phases->planned_end_ns[phases->current])
        enter_next(phases, now_ns, phases->planned_end_ns[phases->current]);
}

void pl_phases_begin(struct pl_phases *phases, pl_ns interval_ns, pl_ns warmup_ns, pl_ns duration_ns)
{
    *phases = (struct pl_phases){.interval_ns = interval_ns};
    phases->planned_end_ns[PL_WARMUP] = warmup_ns;
    phases->planned_end_ns[PL_STEADY] = warmup_ns + duration_ns;
    phases->planned_end_ns[PL_DRAIN] = INT64_MAX;
    enter_due(phases, 0);
}

pl_ns pl_phases_next_ns(const struct pl_phases *phases)
{
    pl_ns passed = phases->open_ns - phases->grid_ns;
    pl_ns next = phases->grid_ns + (passed / phases->interval_ns + 1) * phases->interval_ns;
    pl_ns end = phases->planned_end_ns[phases->current];
    return next < end ? next : end;
}

struct pl_interval pl_phases_close(struct pl_phases *phases, pl_ns now_ns)
{
    struct pl_interval interval = {
        .index = phases->index++,
        .phase = phases->current,
        .span = {.start_ns = phases->open_ns, .end_ns = now_ns},
    };
    phases->open_ns = now_ns;
    enter_due(phases, now_ns);
    return interval;
}

void pl_phases_cut(struct pl_phases *phases)
{
    while (phases->current != PL_DRAIN)
        enter_next(phases, phases->open_ns, phases->open_ns);
}

void pl_phases_finish(struct pl_phases *phases)
{
    pl_phases_cut(phases);
    phases->spans[PL_DRAIN].end_ns = phases->open_ns;
}
