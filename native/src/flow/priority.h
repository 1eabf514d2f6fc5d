/* Real-time priority (SCHED_FIFO) of the threads of a flow of messages. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "flow/worker.h"
#include "messages/settings.h"

/* Where the kernel states the share that real-time threads may have of a core, in us of each period; -1: all.
 */
#define PL_REAL_TIME_SHARE_PATH "/proc/sys/kernel/sched_rt_runtime_us"

struct pl_priority {
    int64_t granted; /* 0: none */
    int main_policy; /* of the main thread before */
    struct sched_param main_before;
};

/* Whether the kernel leaves ordinary threads a share of every core; true where `path` cannot be read. */
bool pl_real_time_is_limited(const char *path);
/* Refuses a priority with which spinning threads would take the host from everyone else: false with `error`
 * set. */
bool pl_priority_check(const struct pl_message_settings *messages, struct pl_error *error);
/* Gives every worker the priority that was asked for, and the calling thread, which samples and ends the
 * trial, the next higher one; or none of them, where the user has no right to it. */
void pl_priority_grant(struct pl_priority *priority, const struct pl_worker *workers, uint32_t count,
                       int64_t requested);
/* Gives the calling thread back what it had before. */
void pl_priority_restore(struct pl_priority *priority);
