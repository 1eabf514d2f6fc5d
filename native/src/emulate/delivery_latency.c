#include "emulate/delivery_latency.h"

enum { AVERAGED_WRITES = 8 };
static const pl_ns WRITE_NS_MAX =
    4 * (pl_ns)PL_DELIVERY_LATENCY_NS_MAX; /* longer: the thread lost its core meanwhile */

pl_ns pl_delivery_latency_lead_ns(const struct pl_delivery_latency *latency, pl_ns written_ns, pl_ns now_ns)
{
    if (now_ns - written_ns < PL_DELIVERY_LATENCY_PAUSE_NS)
        return 0;
    pl_ns half_ns = latency->write_ns / 2;
    return half_ns < PL_DELIVERY_LATENCY_NS_MAX ? half_ns : PL_DELIVERY_LATENCY_NS_MAX;
}

void pl_delivery_latency_learn(struct pl_delivery_latency *latency, pl_ns written_ns, pl_ns began_ns,
                               pl_ns ended_ns, size_t length_bytes)
{
    if (began_ns - written_ns < PL_DELIVERY_LATENCY_PAUSE_NS ||
        length_bytes > PL_DELIVERY_LATENCY_SMALL_BYTES || ended_ns <= began_ns)
        return;
    pl_ns taken_ns = ended_ns - began_ns;
    taken_ns = taken_ns < WRITE_NS_MAX ? taken_ns : WRITE_NS_MAX;
    latency->write_ns += latency->write_ns == 0 ? taken_ns : (taken_ns - latency->write_ns) / AVERAGED_WRITES;
}
