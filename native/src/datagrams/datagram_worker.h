/* The threads of a flow of datagrams: a worker sends, or receives, the datagrams of its streams. In both
 * directions at once, each share of the streams has one thread for either. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "datagrams/datagram_link.h"
#include "flow/flow.h"
#include "flow/worker.h"

/* Threads for each worker that the flow asks for. */
uint32_t pl_datagram_threads(const struct pl_flow *flow);
/* Before a worker's thread starts: gives worker `number` of `lanes` its role. False with `error` set. */
bool pl_datagram_prepare(struct pl_worker *worker, const struct pl_flow *flow, uint32_t number,
                         uint32_t lanes, struct pl_error *error);
/* What a worker does from the start of the trial on. */
void pl_datagram_worker_run(struct pl_worker *worker);

/* The bodies of the roles. */
void pl_datagram_source_run(struct pl_worker *worker);
void pl_datagram_sink_run(struct pl_worker *worker);
/* The buffers of one that receives, for its `state`; NULL when memory ran out. */
void *pl_datagram_sink_create(void);
