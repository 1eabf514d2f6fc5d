#include "flow/byte_counters.h"

#include <stdlib.h>

bool pl_byte_counters_create(struct pl_byte_counters *bytes, uint32_t count)
{
    bytes->current = calloc(count, sizeof *bytes->current);
    bytes->previous = calloc(count, sizeof *bytes->previous);
    bool complete = bytes->current != NULL && bytes->previous != NULL;
    for (size_t p = 0; p < PL_PHASE_COUNT; p++) {
        bytes->phases[p] = calloc(count, sizeof *bytes->phases[p]);
        complete = complete && bytes->phases[p] != NULL;
    }
    return complete;
}

void pl_byte_counters_free(struct pl_byte_counters *bytes)
{
    free(bytes->current);
    free(bytes->previous);
    for (size_t p = 0; p < PL_PHASE_COUNT; p++)
        free(bytes->phases[p]);
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
