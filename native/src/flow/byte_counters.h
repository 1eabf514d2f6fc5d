/* Counters of bytes (or messages) in one direction: per stream and phase. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "flow/phases.h"

/* Each array has one number per stream. */
struct pl_byte_counters {
    uint64_t *values;   /* of all arrays */
    uint64_t *current;  /* at the last sample */
    uint64_t *previous; /* at the sample before */
    uint64_t *phases[PL_PHASE_COUNT];
};

/* Zeros; false when memory ran out. pl_byte_counters_free() in either case. */
bool pl_byte_counters_create(struct pl_byte_counters *bytes, uint32_t count);
void pl_byte_counters_free(struct pl_byte_counters *bytes);

/* Makes the last sample the previous one; the caller fills `current`. */
void pl_byte_counters_swap(struct pl_byte_counters *bytes);
/* Adds the latest interval to a phase. */
void pl_byte_counters_add_interval(struct pl_byte_counters *bytes, enum pl_phase phase, uint32_t count);

/* The latest interval, as an array. */
void pl_byte_counters_write_steps(struct pl_json *j, const char *key, const struct pl_byte_counters *bytes,
                                  uint32_t count);
