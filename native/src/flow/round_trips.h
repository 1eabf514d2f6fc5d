/* The round trips of a trial: takes the completed intervals of every stream and adds up the steady window. */
#ifndef PL_ROUND_TRIPS_H
#define PL_ROUND_TRIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/json.h"
#include "flow/flow.h"
#include "flow/stream.h"

struct pl_round_trips {
    struct pl_histogram steady;
};

/* Takes what the streams have completed, and writes a record for each interval of each stream unless `j` is
 * NULL. False when the output is gone. `trips` is NULL where no round trips are measured. */
bool pl_round_trips_collect(struct pl_round_trips *trips, const struct pl_flow *flow,
                            struct pl_stream *streams, struct pl_json *j);

#endif
