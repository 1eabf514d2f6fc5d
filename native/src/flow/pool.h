/* The workers of a flow: threads with one epoll loop each, which serve every n-th stream. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "datagrams/pacing_errors.h"
#include "flow/flow.h"
#include "flow/stream.h"

struct pl_pool;

/* The resource usage of one worker thread since its start, as published last (at most 10 ms of activity ago);
 * the CPU time of a thread of messages is that of now, and what it has not published counts as the system's.
 */
struct pl_worker_usage {
    int64_t user_ns;
    int64_t system_ns;
    int64_t waiting_ns; /* runnable, without a core; -1: the kernel does not report it */
    int64_t spun_ns;    /* of the CPU time: in which it spun for messages to become due */
    uint64_t wake_ups;
    uint64_t system_calls;
};

/* The transfer of each direction: NULL where there is none. `reason`: why it is not the requested one; else
 * NULL. */
struct pl_transfer {
    const char *send;    /* "copy" or "splice" */
    const char *receive; /* "copy" or "truncate" */
    const char *reason;
};

/* Starts the threads, which wait. The streams are borrowed and must outlive the pool. NULL with `error` set.
 */
struct pl_pool *pl_pool_start(const struct pl_flow *flow, struct pl_stream *streams, struct pl_error *error);
/* Ends the threads, if they still run, and frees. */
void pl_pool_free(struct pl_pool *pool);

/* Lets the streams carry data; returns when, on pl_now_ns()'s clock. */
pl_ns pl_pool_run(struct pl_pool *pool);
/* The workers stop writing and shut this end's side of every stream. */
void pl_pool_shut(struct pl_pool *pool);
/* Ends and joins the threads; counters and CPU times are exact from then on. */
void pl_pool_join(struct pl_pool *pool);

/* What the threads have reached. */
struct pl_pool_state {
    uint32_t closed;       /* streams that have ended or failed */
    bool exhausted;        /* every stream has sent its share of `bytes` */
    int64_t failed_stream; /* the first one, -1 for none */
    pl_ns first_byte_ns; /* when the first data byte was read (pl_now_ns()'s clock), 0 while there was none */
    bool capped;         /* the byte limit was reached */
};

struct pl_pool_state pl_pool_state(const struct pl_pool *pool);

/* Readable when the state has changed; pl_pool_clear_wake() makes it unreadable again. */
int pl_pool_fd(const struct pl_pool *pool);
void pl_pool_clear_wake(struct pl_pool *pool);

uint32_t pl_pool_workers(const struct pl_pool *pool);
struct pl_worker_usage pl_pool_usage(const struct pl_pool *pool, uint32_t worker);
/* Adds those of all threads that sent datagrams; after pl_pool_join(). */
void pl_pool_merge_pacing_errors(const struct pl_pool *pool, struct pl_pacing_errors *into);
/* The real-time priority that the threads of messages have; 0: none. */
int64_t pl_pool_priority(const struct pl_pool *pool);
/* The core that a worker is pinned to, -1 for none. */
int pl_pool_core(const struct pl_pool *pool, uint32_t worker);
/* The transfer in use. */
struct pl_transfer pl_pool_transfer(const struct pl_pool *pool);
