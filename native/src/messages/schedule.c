#include "messages/schedule.h"

#include <time.h>

/* Sleeps with a timer slack of 1 ns overrun by less than this, unless the host is busy. */
#define SPIN_NS (30 * INT64_C(1000))
/* Between two readings of the clock; the thread had no core in a longer time. */
#define WITHOUT_CORE_NS (5 * INT64_C(1000))

/* With more than this left of the offered time, the rate was missed. */
#define LEFT_RATIO 0.01
#define LEFT_NS (100 * PL_NS_PER_MS)

pl_ns pl_schedule_due_ns(const struct pl_schedule *schedule, uint64_t round)
{
    uint64_t number = round * schedule->messages;
    uint64_t rate = (uint64_t)schedule->rate_per_s;
    uint64_t rest = number % rate; /* below 2^34, so that the product fits */
    return schedule->start_ns + (pl_ns)(number / rate) * PL_NS_PER_S + (pl_ns)(rest * PL_NS_PER_S / rate);
}

pl_ns pl_wait_until(pl_ns due_ns, pl_ns *spun_ns)
{
    pl_ns now_ns = pl_now_ns();
    if (due_ns - now_ns > SPIN_NS) {
        pl_ns until_ns = due_ns - SPIN_NS;
        const struct timespec until = {.tv_sec = (time_t)(until_ns / PL_NS_PER_S),
                                       .tv_nsec = (long)(until_ns % PL_NS_PER_S)};
        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
            return pl_now_ns();
        now_ns = pl_now_ns();
    }
    while (now_ns < due_ns) {
        pl_ns next_ns = pl_now_ns();
        *spun_ns += next_ns - now_ns < WITHOUT_CORE_NS ? next_ns - now_ns : 0;
        now_ns = next_ns;
    }
    return now_ns;
}

bool pl_may_catch_up(pl_ns offered_ns, pl_ns late_ns)
{
    pl_ns most_ns = (pl_ns)(LEFT_RATIO * (double)offered_ns);
    pl_ns stall_ns = pl_earlier(LEFT_NS, offered_ns / 4); /* not most of a short trial */
    return late_ns <= (most_ns > stall_ns ? most_ns : stall_ns);
}
