/* The settings of one end of a flow, from flags and hellos. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/options.h"
#include "flow/flow.h"
#include "flow/hello.h"

/* Parses the flags of `send` (sending) or `receive` and derives the dependent values. */
enum pl_options_outcome pl_flow_parse(struct pl_flow *flow, bool sending, int argc, char **argv,
                                      struct pl_error *error);

/* Completes a receiver's settings from a hello; false when the hello contradicts its flags. */
bool pl_flow_adopt(struct pl_flow *flow, const struct pl_hello *hello);
/* Derives the kind of the flow and what follows from its settings; called again once the number of streams is
 * known. */
void pl_flow_derive(struct pl_flow *flow);
