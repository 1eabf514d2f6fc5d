/* Threads that compute without a pause. */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

#define PL_CPU_LOAD_MAX 1024

struct pl_cpu_load;

/* Starts them with the caller's priority. NULL with `error` set on failure; `threads` may be 0. */
struct pl_cpu_load *pl_cpu_load_start(uint32_t threads, struct pl_error *error);
/* CPU time that a thread has used since its start. */
pl_ns pl_cpu_load_used_ns(const struct pl_cpu_load *load, uint32_t thread);
/* Ends and frees them; NULL: nothing. */
void pl_cpu_load_stop(struct pl_cpu_load *load);
