/* The round trips of a trial: takes the completed intervals of every stream and adds up the steady window. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "base/json.h"
#include "messages/latency_log.h"

struct pl_round_trips {
    pl_ns warmup_ns;
    pl_ns steady_end_ns; /* INT64_MAX: the steady window does not end by time */
    struct pl_histogram steady;
};

/* Takes what a stream has completed, and writes a record for each of its intervals unless `j` is NULL. False
 * when the output is gone. */
bool pl_round_trips_collect(struct pl_round_trips *trips, struct pl_latency_log *log, uint32_t stream,
                            struct pl_json *j);
