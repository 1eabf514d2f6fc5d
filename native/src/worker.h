/* Inside of the pool: what its threads share, and the loop of one of them. */
#ifndef PL_WORKER_H
#define PL_WORKER_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "stream.h"

enum pl_pool_mode { PL_MODE_WAIT, PL_MODE_RUN, PL_MODE_SHUT, PL_MODE_QUIT };

/* Written by several threads, each field for the reason given. */
struct pl_shared {
    _Atomic int mode;              /* by the main thread, and by the worker that meets the limit of bytes */
    _Atomic uint32_t closed;       /* streams ended or failed */
    _Atomic int64_t failed_stream; /* the first one, -1 */
    _Atomic int64_t first_byte_ns; /* by the first reader */
    _Atomic uint64_t counted;      /* only when there is a limit */
    _Atomic bool capped;
    int main_wake_fd; /* eventfd */
    bool sending;
    uint32_t streams;
    size_t chunk_bytes;
    uint64_t max_bytes;
};

struct pl_worker {
    alignas(128) _Atomic int64_t user_ns;
    _Atomic int64_t system_ns;
    struct pl_shared *shared;
    struct pl_stream **streams; /* owned array of borrowed streams */
    uint32_t count;
    int epoll_fd;
    int wake_fd;
    uint8_t *buffer;
    int applied_mode;
    pl_ns published_ns;
    bool first_byte_seen;
    bool started;
    pthread_t thread;
};

/* The thread's body; `worker` is a struct pl_worker. */
void *pl_worker_run(void *worker);

/* Makes an eventfd readable. */
void pl_wake(int event_fd);

#endif
