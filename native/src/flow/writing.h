/* What a worker does with a stream that has room for data. */
#ifndef PL_WRITING_H
#define PL_WRITING_H

#include "flow/worker.h"

/* Writes up to a turn's worth, its quota, or its rate. */
void pl_write_turn(struct pl_worker *worker, struct pl_stream *stream);

/* Lets those streams go on whose time has come. */
void pl_write_resume(struct pl_worker *worker, pl_ns now_ns);

#endif
