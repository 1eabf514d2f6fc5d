/* The settings of a flow of bytes that follow from its flags. */
#pragma once

#include "flow/flow.h"

/* Derives workers, pacing, windows and the sizes of calls. */
void pl_stream_flow_derive(struct pl_flow *flow);
/* The number of workers where it was not requested: one for each core, and no more than streams. */
void pl_stream_flow_count_workers(struct pl_flow *flow);
/* Pacing, windows and the sizes of calls; the workers are known. */
void pl_stream_flow_fit(struct pl_flow *flow);
