/* The loop of one stream in a thread of its own: connects, compares a first reply, and after `go` asks until
 * the trial is over. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "adapter/plan.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "messages/latency_log.h"

/* In this order. A loop that fails goes to PL_LOOP_FAILED from any. */
enum pl_loop_state {
    PL_LOOP_CONNECTING,
    PL_LOOP_FIRST_REPLY,
    PL_LOOP_CHECKED, /* its first reply */
    PL_LOOP_READY,
    PL_LOOP_RUNNING,
    PL_LOOP_DONE,
    PL_LOOP_CLOSED,
    PL_LOOP_FAILED
};

enum pl_loop_stage { PL_LOOPS_WAIT, PL_LOOPS_DESCRIBE, PL_LOOPS_RUN, PL_LOOPS_CLOSE };

/* What an asker can do besides the contract, NULL where it cannot. Both leave their results alone where
 * nothing is known. */
struct pl_asker_extras {
    /* The time that a request spends between harness and client; called once, by the loop's thread. 0, or -1
     * with `error` set, once all are connected. */
    int (*measure_hop)(void *connection, double *hop_ns, struct pl_adapter_error *error);
    /* Adds the CPU time that a connection's client has used outside of this process. */
    void (*add_usage)(void *connection, pl_ns *user_ns, pl_ns *system_ns);
};

/* Of all loops of a program. */
struct pl_loops {
    const struct pl_adapter *adapter;
    const struct pl_asker_extras *extras; /* NULL: none */
    const struct pl_plan *plan;
    int wake_fd; /* an eventfd, written whenever a loop's state has changed */
    pthread_mutex_t mutex;
    pthread_cond_t stage_changed;
    enum pl_loop_stage stage;
    pl_ns run_ns;      /* when the trial began */
    _Atomic bool over; /* ends before their time */
    /* Stated by the first loop before it is ready. */
    char versions[256];
    char settings_json[1024];
    double hop_ns; /* -1: none */
};

struct pl_loop {
    struct pl_loops *all;
    struct pl_adapter_settings settings;
    pthread_t thread;
    void *connection;
    uint8_t *request;
    struct pl_latency_log *log;
    struct pl_histogram lateness; /* of sending, at an offered rate */
    struct pl_adapter_error error;
    _Atomic int state;        /* enum pl_loop_state */
    _Atomic int64_t asked_ns; /* since when a reply is awaited; 0: none is */
    _Atomic uint64_t sent;
    _Atomic uint64_t received;
    /* Of the thread that watches: the request that was seen to be late, by asked_ns, and when it was seen. */
    pl_ns slow_asked_ns;
    pl_ns slow_since_ns;
};

/* False when memory ran out. */
bool pl_loop_prepare(struct pl_loop *loop, struct pl_loops *all, unsigned stream);
void pl_loop_release(struct pl_loop *loop);

/* The thread's body; `loop` is a struct pl_loop. */
void *pl_loop_run(void *loop);

/* Lets all loops go on to a stage. */
void pl_loops_enter(struct pl_loops *loops, enum pl_loop_stage stage, pl_ns run_ns);
