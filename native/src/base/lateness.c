#include "base/lateness.h"

enum { STEPS = 1 << PL_LATENESS_STEP_BITS };

/* Below STEPS a bucket is one nanosecond; above, each octave has STEPS equal buckets. */
static unsigned bucket_of(uint64_t late_ns)
{
    if (late_ns < STEPS) {
        return (unsigned)late_ns;
    }
    unsigned exponent = 63U - (unsigned)__builtin_clzll(late_ns);
    unsigned shift = exponent - PL_LATENESS_STEP_BITS;
    return (shift + 1U) * STEPS + (unsigned)((late_ns >> shift) & (STEPS - 1U));
}

static uint64_t upper_edge_of(unsigned bucket)
{
    if (bucket < STEPS) {
        return bucket;
    }
    unsigned shift = bucket / STEPS - 1U;
    return ((uint64_t)(STEPS + bucket % STEPS + 1U) << shift) - 1U;
}

void pl_lateness_add(struct pl_lateness *lateness, pl_ns late_ns)
{
    pl_ns late = late_ns > 0 ? late_ns : 0;
    lateness->buckets[bucket_of((uint64_t)late)]++;
    lateness->count++;
    if (late > lateness->max_ns) {
        lateness->max_ns = late;
    }
}

void pl_lateness_merge(struct pl_lateness *into, const struct pl_lateness *other)
{
    for (unsigned bucket = 0; bucket < PL_LATENESS_BUCKETS; bucket++) {
        into->buckets[bucket] += other->buckets[bucket];
    }
    into->count += other->count;
    if (other->max_ns > into->max_ns) {
        into->max_ns = other->max_ns;
    }
}

bool pl_lateness_percentile(const struct pl_lateness *lateness, double ratio, pl_ns *late_ns)
{
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < PL_LATENESS_BUCKETS; bucket++) {
        seen += lateness->buckets[bucket];
        if (seen > 0 && (double)seen >= ratio * (double)lateness->count) {
            uint64_t edge = upper_edge_of(bucket);
            *late_ns = edge < (uint64_t)lateness->max_ns ? (pl_ns)edge : lateness->max_ns;
            return true;
        }
    }
    return false;
}

void pl_lateness_write(const struct pl_lateness *lateness, struct pl_json *j, const char *key)
{
    static const struct {
        const char *key;
        double ratio;
    } members[] = {{"median", 0.5}, {"p99", 0.99}, {"max", 1.0}};
    pl_json_begin_object(j, key);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        pl_ns late_ns = -1;
        (void)pl_lateness_percentile(lateness, members[i].ratio, &late_ns);
        pl_json_known_i64(j, members[i].key, late_ns);
    }
    pl_json_end_object(j);
}
