/* The engine's clocks, in integer nanoseconds. */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

typedef int64_t pl_ns;

#define PL_NS_PER_S INT64_C(1000000000)
#define PL_NS_PER_MS INT64_C(1000000)

static inline pl_ns pl_earlier(pl_ns a, pl_ns b)
{
    return a < b ? a : b;
}

pl_ns pl_timespec_ns(const struct timespec *time);
pl_ns pl_timeval_ns(const struct timeval *time);

/* CLOCK_MONOTONIC now. Cannot fail on Linux. */
pl_ns pl_now_ns(void);

/* CLOCK_REALTIME now: for timestamps and for comparison with the kernel's packet timestamps, never for
 * durations. */
pl_ns pl_realtime_ns(void);

/* CPU time that `thread` (running, not joined) has used, user and system together; -1 where unknown. */
pl_ns pl_thread_cpu_ns(pthread_t thread);
