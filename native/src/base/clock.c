#include "base/clock.h"

pl_ns pl_timespec_ns(const struct timespec *time)
{
    return (pl_ns)time->tv_sec * PL_NS_PER_S + (pl_ns)time->tv_nsec;
}

pl_ns pl_timeval_ns(const struct timeval *time)
{
    return (pl_ns)time->tv_sec * PL_NS_PER_S + (pl_ns)time->tv_usec * 1000;
}

pl_ns pl_now_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return pl_timespec_ns(&t);
}

pl_ns pl_realtime_ns(void)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return pl_timespec_ns(&t);
}

pl_ns pl_thread_cpu_ns(pthread_t thread)
{
    clockid_t clock;
    struct timespec t;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &t) != 0)
        return -1;
    return pl_timespec_ns(&t);
}
