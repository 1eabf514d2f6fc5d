/* Throughput of the host's loopback: both ends of a flow in one process, over 127.0.0.1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/events.h"

struct pl_loopback_settings {
    int64_t streams;
    bool zero_copy;
    const char *congestion; /* empty: the kernel's default */
    pl_ns warmup_ns;
    pl_ns duration_ns;
};

struct pl_loopback_result {
    uint64_t bytes; /* received within length_ns */
    pl_ns length_ns;
    int64_t cpu_ns;     /* of all workers of both ends, from their start to their end */
    uint64_t cpu_bytes; /* carried in that time */
    pl_ns tcp_info_ns;  /* mean time to read TCP_INFO of one stream while all are busy */
    int64_t sender_workers;
    int64_t receiver_workers;
    char congestion[16]; /* in use at the sender */
};

/* Carries bytes for the requested time. False with `error` set, also for a command that ends the run
 * (PL_ENDED). */
bool pl_loopback_measure(const struct pl_loopback_settings *settings, struct pl_events *events,
                         struct pl_loopback_result *result, struct pl_error *error);
