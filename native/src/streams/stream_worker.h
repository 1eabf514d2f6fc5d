/* The threads of a flow of bytes: one epoll loop, which serves every n-th stream in both directions. */
#ifndef PL_STREAM_WORKER_H
#define PL_STREAM_WORKER_H

#include "flow/worker.h"

/* What a worker does from the start of the trial on. */
void pl_stream_worker_run(struct pl_worker *worker);

#endif
