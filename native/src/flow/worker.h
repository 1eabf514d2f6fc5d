/* Internals of the pool: the threads' shared state, and what the bodies of the threads share. */
#pragma once

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "datagrams/datagram_settings.h"
#include "datagrams/pacing_errors.h"
#include "flow/stream.h"
#include "messages/settings.h"
#include "streams/pipeline.h"

enum pl_pool_mode { PL_MODE_WAIT, PL_MODE_RUN, PL_MODE_SHUT, PL_MODE_QUIT };

/* Reads or writes on one stream in one turn: a few, and with many streams a single one, so that each stream
 * has several turns in the shortest interval. */
#define PL_TURN_MAX 16
#define PL_TURNS_OF_ALL 128

/* Usage is published at least this often while there is work. */
#define PL_PUBLISH_NS (10 * PL_NS_PER_MS)

struct pl_flow_kind;

/* Shared by the threads; the comments name who writes a field. */
struct pl_shared {
    _Atomic int mode;              /* by the main thread, and by the worker that reaches the byte limit */
    _Atomic uint32_t closed;       /* streams ended or failed */
    _Atomic uint32_t exhausted;    /* streams whose quota is sent */
    _Atomic int64_t failed_stream; /* the first one, -1 */
    _Atomic int64_t first_byte_ns; /* by the first reader */
    _Atomic uint64_t counted;      /* only when there is a limit */
    _Atomic bool capped;
    _Atomic int splice_failure; /* errno of a socket that does not support splice */
    int main_wake_fd;           /* eventfd */
    bool accepting;
    bool transmits;
    bool receives;
    bool discards;    /* reads by MSG_TRUNC */
    bool half_closes; /* one side may end while the other continues; not with SCTP */
    uint32_t streams;
    size_t write_bytes;
    size_t read_bytes;
    uint64_t max_bytes;
    int64_t user_rate_bits_per_s; /* per stream; 0: not paced here */
    _Atomic int64_t run_ns;       /* when the streams may carry data, on pl_now_ns()'s clock; 0: not yet */
    const struct pl_flow_kind *kind;
    const struct pl_message_settings *messages;   /* of a flow of messages; else NULL */
    const struct pl_datagram_settings *datagrams; /* of a flow of datagrams; else NULL */
    pl_ns warmup_ns;
    pl_ns drain_timeout_ns;
    pl_ns
        offered_ns; /* messages and datagrams are offered for this time, the warm-up and the steady window */
};

struct pl_worker {
    alignas(128) _Atomic int64_t user_ns;
    _Atomic int64_t system_ns;
    _Atomic int64_t waiting_ns; /* runnable, without a core; -1: the kernel does not report it */
    _Atomic int64_t spun_ns;    /* in which it spun for messages to become due */
    _Atomic int64_t cpu_clock;  /* a clockid_t: the CPU time of a thread of messages while it runs; else 0 */
    _Atomic uint64_t wake_ups;
    _Atomic uint64_t system_calls; /* reads and writes of streams, waits, and their bookkeeping */
    struct pl_shared *shared;
    struct pl_stream **streams; /* owned array of borrowed streams */
    uint32_t count;
    int turn;        /* reads or writes on one stream in one turn */
    uint32_t paused; /* streams that wait for due_ns */
    int epoll_fd;
    int wake_fd;
    int core;      /* pinned to; -1: not */
    int role;      /* enum pl_role; of a flow of messages or of datagrams */
    bool listens;  /* of datagrams: reads what the peer states */
    bool notified; /* of datagrams: a peer has stated its end since the body looked */
    void *state;   /* of datagrams that are received: owned; else NULL */
    struct pl_pacing_errors *pacing_errors; /* of datagrams that are sent: owned; else NULL */
    int schedule_fd;                        /* the thread's own schedstat, opened and read by it; -1: none */
    uint8_t *write_buffer;
    uint8_t *read_buffer;
    struct pl_pipeline pipeline;
    int applied_mode;
    pl_ns published_ns;
    uint64_t calls; /* not yet published */
    bool first_byte_seen;
    bool started;
    pthread_t thread;
};

/* The body of every thread; its argument is a struct pl_worker. Waits until the trial runs, and runs what the
 * kind does unless the trial is given up before. */
void *pl_worker_main(void *argument);

/* For what the kinds do in it. */

/* Lets the main thread see this thread's usage; to be called from time to time, and at its end. */
void pl_worker_publish(struct pl_worker *worker, pl_ns now_ns);
/* The first byte of the flow has come at `now_ns`; later calls have no effect. */
void pl_worker_record_first_byte(struct pl_worker *worker, pl_ns now_ns);
/* So many streams have sent their share of the bytes. */
void pl_worker_note_exhausted(struct pl_worker *worker, uint32_t streams);

/* Marks the stream as failed, or with `failure` 0 as ended. */
void pl_worker_close(struct pl_worker *worker, struct pl_stream *stream, int failure);
/* Counts towards the byte limit; false when it is reached. */
bool pl_worker_count(struct pl_worker *worker, size_t bytes);
