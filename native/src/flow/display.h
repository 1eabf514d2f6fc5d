/* A trial as text for people at a terminal. All return false when the output is gone. */
#ifndef PL_DISPLAY_H
#define PL_DISPLAY_H

#include <stdbool.h>

#include "flow/counters.h"
#include "flow/trial.h"

/* What is about to run. */
bool pl_display_ready(const struct pl_counters *counters);
/* A line on the interval closed last. */
bool pl_display_interval(const struct pl_counters *counters);
/* The summary, after the workers have been joined. */
bool pl_display_result(const struct pl_counters *counters, const struct pl_ending *ending);

#endif
