/* The lead of a write after a pause: half of the duration of such writes, bounded; none without a pause. */
#include "check.h"
#include "emulate/delivery_latency.h"

enum { PROBE_BYTES = 84 };
static const pl_ns START_NS = PL_NS_PER_S;
static const pl_ns PAUSE_NS = PL_DELIVERY_LATENCY_PAUSE_NS;

static void learn(struct pl_delivery_latency *latency, pl_ns pause_ns, pl_ns taken_ns, size_t length_bytes)
{
    pl_delivery_latency_learn(latency, START_NS - pause_ns, START_NS, START_NS + taken_ns, length_bytes);
}

static pl_ns lead_after(const struct pl_delivery_latency *latency, pl_ns pause_ns)
{
    return pl_delivery_latency_lead_ns(latency, START_NS - pause_ns, START_NS);
}

static void check_nothing_known(void)
{
    struct pl_delivery_latency latency = {0};
    CHECK_EQUAL(lead_after(&latency, PAUSE_NS), 0);
}

static void check_half_of_what_it_takes(void)
{
    struct pl_delivery_latency latency = {0};
    for (unsigned i = 0; i < 100; i++)
        learn(&latency, PAUSE_NS, 20000, PROBE_BYTES);
    CHECK_EQUAL(lead_after(&latency, PAUSE_NS), 10000);
    CHECK_EQUAL(lead_after(&latency, PAUSE_NS - 1), 0);
    for (unsigned i = 0; i < 200; i++)
        learn(&latency, PAUSE_NS, 8000, PROBE_BYTES);
    pl_ns lead_ns = lead_after(&latency, PAUSE_NS);
    CHECK(lead_ns >= 4000 && lead_ns <= 4004);
}

static void check_what_is_not_learned(void)
{
    struct pl_delivery_latency latency = {0};
    learn(&latency, PAUSE_NS - 1, 20000, PROBE_BYTES);
    learn(&latency, PAUSE_NS, 20000, PL_DELIVERY_LATENCY_SMALL_BYTES + 1);
    learn(&latency, PAUSE_NS, 0, PROBE_BYTES);
    learn(&latency, PAUSE_NS, -5, PROBE_BYTES);
    CHECK_EQUAL(lead_after(&latency, PAUSE_NS), 0);
}

static void check_the_bound(void)
{
    struct pl_delivery_latency latency = {0};
    for (unsigned i = 0; i < 100; i++)
        learn(&latency, PL_NS_PER_S, 30 * PL_NS_PER_MS, PROBE_BYTES);
    CHECK_EQUAL(lead_after(&latency, PL_NS_PER_S), PL_DELIVERY_LATENCY_NS_MAX);
    learn(&latency, PAUSE_NS, 10000, PROBE_BYTES);
    CHECK(latency.write_ns < 4 * (pl_ns)PL_DELIVERY_LATENCY_NS_MAX);
}

int main(void)
{
    check_nothing_known();
    check_half_of_what_it_takes();
    check_what_is_not_learned();
    check_the_bound();
    CHECK_RETURN();
}
