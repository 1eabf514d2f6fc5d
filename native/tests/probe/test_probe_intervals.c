/* Intervals of probes: when one is complete, what it counts, and a run that ends within one. */
#include "check.h"
#include "probe/probe_intervals.h"

#define LENGTH 1000
#define EVERY 300 /* four probes, then three, then three in an interval */
#define TIMEOUT 2000

static struct pl_probe probe_at(uint64_t sequence, pl_ns rtt_ns)
{
    return (struct pl_probe){.sequence = sequence,
                             .intended_ns = (pl_ns)sequence * EVERY,
                             .answered = rtt_ns >= 0,
                             .rtt_ns = rtt_ns};
}

static void add(struct pl_probe_intervals *intervals, uint64_t sequence, pl_ns rtt_ns)
{
    const struct pl_probe probe = probe_at(sequence, rtt_ns);
    pl_probe_intervals_add(intervals, &probe);
}

int main(void)
{
    struct pl_error error = {0};
    struct pl_probe_intervals *intervals = pl_probe_intervals_create(LENGTH, EVERY, TIMEOUT, &error);
    CHECK(intervals != NULL);
    CHECK(pl_probe_intervals_next(intervals, true) == NULL);
    for (uint64_t s = 0; s < 3; s++)
        add(intervals, s, 50);
    add(intervals, 4, 70); /* of the second interval, before the first one is complete */
    CHECK(pl_probe_intervals_next(intervals, false) == NULL);
    add(intervals, 3, -1);
    const struct pl_probe_interval *found = pl_probe_intervals_next(intervals, false);
    CHECK(found != NULL);
    CHECK_EQUAL(found->start_ns, 0);
    CHECK_EQUAL(found->end_ns, LENGTH);
    CHECK_EQUAL(found->sent, 4);
    CHECK_EQUAL(found->lost, 1);
    CHECK_EQUAL(found->round_trips.count, 3);
    CHECK_EQUAL(found->round_trips.max_ns, 50);
    CHECK(pl_probe_intervals_next(intervals, false) == NULL);

    struct pl_probe refused = probe_at(5, -1);
    refused.failed = true;
    pl_probe_intervals_add(intervals, &refused);
    CHECK(pl_probe_intervals_next(intervals, false) == NULL);
    found = pl_probe_intervals_next(intervals, true); /* the run ends: probe 6 has no outcome */
    CHECK(found != NULL);
    CHECK_EQUAL(found->start_ns, LENGTH);
    CHECK_EQUAL(found->sent, 1);
    CHECK_EQUAL(found->lost, 0);
    CHECK(pl_probe_intervals_next(intervals, true) == NULL);
    pl_probe_intervals_free(intervals);
    CHECK_RETURN();
}
