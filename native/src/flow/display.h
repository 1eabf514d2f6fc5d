/* A trial as text for people at a terminal. All return false when the output is gone. */
#pragma once

#include <stdbool.h>

#include "flow/counters.h"
#include "flow/ending.h"

/* The settings of the run. */
bool pl_display_ready(const struct pl_counters *counters);
/* A line for the latest closed interval. */
bool pl_display_interval(const struct pl_counters *counters);
/* The summary; the workers must have been joined. */
bool pl_display_result(const struct pl_counters *counters, const struct pl_ending *ending);
