/* What a worker does with a stream that has something to read. */
#ifndef PL_READING_H
#define PL_READING_H

#include "flow/worker.h"

/* Reads up to a turn's worth: data where this end receives; else the peer's first byte and its end. False
 * when the stream is over. */
bool pl_read_turn(struct pl_worker *worker, struct pl_stream *stream);

#endif
