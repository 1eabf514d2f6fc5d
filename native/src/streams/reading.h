/* A worker's handling of a readable stream. */
#pragma once

#include "flow/worker.h"

/* Reads up to one turn: data where this end receives, else the peer's start byte, confirmation and end. False
 * when the stream is over. */
bool pl_read_turn(struct pl_worker *worker, struct pl_stream *stream);
