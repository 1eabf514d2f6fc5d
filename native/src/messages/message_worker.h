/* The threads of a flow of messages. Each has one role and waits in plain blocking calls (or spins), as the
 * programs do whose messages they stand for; a signal ends a wait when the pool's mode changes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "flow/flow.h"
#include "flow/worker.h"

/* How many threads an end needs. */
uint32_t pl_message_workers(const struct pl_flow *flow);
/* Before a worker's thread starts: gives it its role, and lets pl_message_kick() end its waits. */
bool pl_message_prepare(struct pl_worker *worker, const struct pl_flow *flow, uint32_t number, uint32_t lanes,
                        struct pl_error *error);
/* Ends the wait of a worker's thread, which then looks at the mode. A thread that is just about to wait
 * misses it. */
void pl_message_kick(const struct pl_worker *worker);

/* What a worker does from the start of the trial on. */
void pl_message_worker_run(struct pl_worker *worker);
