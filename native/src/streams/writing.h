/* A worker's handling of a writable stream. */
#pragma once

#include "flow/worker.h"

/* Writes up to one turn, the stream's quota, or its rate. */
void pl_write_turn(struct pl_worker *worker, struct pl_stream *stream);

/* Resumes the streams whose pause is over. */
void pl_write_resume(struct pl_worker *worker, pl_ns now_ns);
