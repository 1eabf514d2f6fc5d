#include "flow/byte_counters.h"

#include <stdlib.h>

bool pl_byte_counters_create(struct pl_byte_counters *bytes, uint32_t count)
{
    bytes->values = calloc((size_t)count * (2 + PL_PHASE_COUNT), sizeof *bytes->values);
    if (bytes->values == NULL)
        return false;
    bytes->current = bytes->values;
    bytes->previous = bytes->values + count;
    for (size_t p = 0; p < PL_PHASE_COUNT; p++)
        bytes->phases[p] = bytes->values + count * (2 + p);
    return true;
}

void pl_byte_counters_free(struct pl_byte_counters *bytes)
{
    free(bytes->values);
}

void pl_byte_counters_swap(struct pl_byte_counters *bytes)
{
    uint64_t *oldest = bytes->previous;
    bytes->previous = bytes->current;
    bytes->current = oldest;
}

void pl_byte_counters_add_interval(struct pl_byte_counters *bytes, enum pl_phase phase, uint32_t count)
{
    for (uint32_t s = 0; s < count; s++)
        bytes->phases[phase][s] += bytes->current[s] - bytes->previous[s];
}

void pl_byte_counters_write_steps(struct pl_json *j, const char *key, const struct pl_byte_counters *bytes,
                                  uint32_t count)
{
    pl_json_begin_array(j, key);
    for (uint32_t i = 0; i < count; i++)
        pl_json_u64(j, NULL, bytes->current[i] - bytes->previous[i]);
    pl_json_end_array(j);
}
