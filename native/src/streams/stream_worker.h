/* The threads of a flow of bytes: one epoll loop, which serves every n-th stream in both directions. */
#ifndef PL_STREAM_WORKER_H
#define PL_STREAM_WORKER_H

/* The thread's body; `worker` is a struct pl_worker. */
void *pl_stream_worker_run(void *worker);

#endif
