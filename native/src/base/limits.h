/* Limits of this process that the kernel enforces. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Limits the memory for data (RLIMIT_DATA): beyond it, allocations fail. Keeps a lower limit that is already
 * in force. False with `error` set when the kernel refuses. */
bool pl_limit_memory(int64_t bytes, struct pl_error *error);

/* The cores that this process may use; 1 where that is unknown. */
int64_t pl_count_cores(void);

/* Raises the soft limit of descriptors to the hard one; false with `error` set when `needed` do not fit. */
bool pl_raise_descriptor_limit(uint64_t needed, struct pl_error *error);
