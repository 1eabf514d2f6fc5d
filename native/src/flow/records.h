/* The records of a trial as JSON lines (PROTOCOL.md). All return false when the output is gone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "flow/counters.h"
#include "flow/ending.h"

/* `rejected` -1: this end accepts no connections. */
bool pl_records_ready(struct pl_json *j, const struct pl_counters *counters, int64_t rejected);
bool pl_records_start(struct pl_json *j, const struct pl_counters *counters);
/* The latest closed interval. */
bool pl_records_interval(struct pl_json *j, const struct pl_counters *counters);
/* The workers must have been joined. */
bool pl_records_result(struct pl_json *j, const struct pl_counters *counters, const struct pl_ending *ending);
