/* The threads of a flow of bytes: one epoll loop, which serves every n-th stream in both directions. */
#pragma once

#include "flow/worker.h"

/* What a worker does from the start of the trial on. */
void pl_stream_worker_run(struct pl_worker *worker);
