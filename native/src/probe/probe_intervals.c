#include "probe/probe_intervals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pl_probe_intervals {
    struct pl_probe_interval *slots; /* interval i at i modulo capacity */
    uint64_t capacity;
    uint64_t oldest; /* the oldest interval that was not handed out */
    uint64_t newest; /* the newest one that has a probe */
    pl_ns length_ns;
    pl_ns probe_interval_ns;
    struct pl_probe_interval handed_out;
};

struct pl_probe_intervals *pl_probe_intervals_create(pl_ns length_ns, pl_ns probe_interval_ns,
                                                     pl_ns timeout_ns, struct pl_error *error)
{
    struct pl_probe_intervals *intervals = calloc(1, sizeof *intervals);
    /* Those in which a probe can be pending, those at both ends, and one for a sender that is late. */
    uint64_t capacity = (uint64_t)(timeout_ns / length_ns) + 4;
    if (intervals != NULL)
        intervals->slots = calloc((size_t)capacity, sizeof *intervals->slots);
    if (intervals == NULL || intervals->slots == NULL) {
        pl_error_set(error, PL_RESOURCES, "probes", ENOMEM, "no memory for %llu intervals of probes",
                     (unsigned long long)capacity);
        free(intervals);
        return NULL;
    }
    intervals->capacity = capacity;
    intervals->length_ns = length_ns;
    intervals->probe_interval_ns = probe_interval_ns;
    return intervals;
}

void pl_probe_intervals_free(struct pl_probe_intervals *intervals)
{
    if (intervals == NULL)
        return;
    free(intervals->slots);
    free(intervals);
}

static struct pl_probe_interval *slot_of(struct pl_probe_intervals *intervals, uint64_t number)
{
    return &intervals->slots[number % intervals->capacity];
}

/* Probes that are to be sent before `at_ns`. */
static uint64_t count_before(const struct pl_probe_intervals *intervals, pl_ns at_ns)
{
    return (uint64_t)((at_ns + intervals->probe_interval_ns - 1) / intervals->probe_interval_ns);
}

void pl_probe_intervals_add(struct pl_probe_intervals *intervals, const struct pl_probe *probe)
{
    uint64_t number = (uint64_t)(probe->intended_ns / intervals->length_ns);
    /* A sender that is late by many intervals counts its probes in the oldest ones that have room. */
    if (number < intervals->oldest)
        number = intervals->oldest;
    if (number >= intervals->oldest + intervals->capacity)
        number = intervals->oldest + intervals->capacity - 1;
    struct pl_probe_interval *slot = slot_of(intervals, number);
    slot->resolved++;
    slot->sent += probe->failed ? 0 : 1;
    slot->lost += !probe->failed && !probe->answered;
    slot->reordered += probe->answered && probe->reordered;
    if (probe->answered)
        pl_histogram_add(&slot->round_trips, probe->rtt_ns);
    if (number > intervals->newest)
        intervals->newest = number;
}

const struct pl_probe_interval *pl_probe_intervals_next(struct pl_probe_intervals *intervals, bool ends)
{
    /* At the end of a run, intervals without any outcome are passed over. */
    while (ends && intervals->oldest < intervals->newest &&
           slot_of(intervals, intervals->oldest)->resolved == 0)
        intervals->oldest++;
    uint64_t number = intervals->oldest;
    struct pl_probe_interval *slot = slot_of(intervals, number);
    pl_ns start_ns = (pl_ns)number * intervals->length_ns;
    pl_ns end_ns = start_ns + intervals->length_ns;
    uint64_t expected = count_before(intervals, end_ns) - count_before(intervals, start_ns);
    bool complete = slot->resolved >= expected && slot->resolved > 0;
    if (number > intervals->newest || !(complete || (ends && slot->resolved > 0)))
        return NULL;
    intervals->handed_out = *slot;
    intervals->handed_out.start_ns = start_ns;
    intervals->handed_out.end_ns = end_ns;
    memset(slot, 0, sizeof *slot);
    intervals->oldest++;
    return &intervals->handed_out;
}
