#include "base/clock.h"

#include <time.h>

static pl_ns to_ns(struct timespec t)
{
    return (pl_ns)t.tv_sec * PL_NS_PER_S + (pl_ns)t.tv_nsec;
}

pl_ns pl_now_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return to_ns(t);
}

pl_ns pl_realtime_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return to_ns(t);
}

pl_ns pl_thread_cpu_ns(pthread_t thread)
{
    clockid_t clock;
    struct timespec t;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return -1;
    return to_ns(t);
}
