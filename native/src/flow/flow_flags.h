/* The flags of `send` and `receive`: one table each. */
#pragma once

#include "base/error.h"
#include "base/options.h"
#include "flow/flow.h"

#define PL_DEFAULT_PORT 5210
#define PL_DEFAULT_PORT_TEXT "5210"
#define PL_MAX_WARMUP_NS (INT64_C(3600) * PL_NS_PER_S)
#define PL_MIN_DURATION_NS PL_NS_PER_MS
#define PL_MAX_DURATION_NS (24 * INT64_C(3600) * PL_NS_PER_S)

/* Reads argv into a flow that holds the defaults; `accepting` selects the table. */
enum pl_options_outcome pl_flow_read_flags(struct pl_flow *flow, int argc, char **argv,
                                           struct pl_error *error);
