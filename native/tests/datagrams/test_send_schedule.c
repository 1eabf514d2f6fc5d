/* The times at which datagrams are due: exact for any rate, without an error that grows. */
#include "check.h"
#include "datagrams/send_schedule.h"

static pl_ns due_of(uint64_t unit_bytes, uint64_t rate, uint32_t share, uint32_t streams, uint64_t number)
{
    struct pl_send_schedule schedule;
    pl_send_schedule_begin(&schedule, 1000, unit_bytes, rate, share, streams);
    for (uint64_t i = 0; i < number; i++)
        pl_send_schedule_advance(&schedule);
    return schedule.due_ns;
}

static void check_even_rates(void)
{
    CHECK_EQUAL(due_of(125, 1000000, 1, 1, 0), 1000);
    CHECK_EQUAL(due_of(125, 1000000, 1, 1, 1), 1000 + 1000000);
    CHECK_EQUAL(due_of(125, 1000000, 1, 1, 1000), 1000 + 1000000000);
    /* A thread with 2 of 4 streams has half of the rate. */
    CHECK_EQUAL(due_of(125, 1000000, 2, 4, 1000), 1000 + 2000000000LL);
}

static void check_uneven_rates(void)
{
    /* 7 datagrams of 64 bytes a second: number n is due at n / 7 s, rounded down. */
    for (uint64_t n = 0; n < 50; n++)
        CHECK_EQUAL(due_of(64, 7 * 64 * 8, 1, 1, n), 1000 + (pl_ns)(n * 1000000000 / 7));
    /* A million of them later it is still exact. */
    CHECK_EQUAL(due_of(64, 7 * 64 * 8, 1, 1, 7000007), 1000 + 1000001 * PL_NS_PER_S);
}

static void check_extremes(void)
{
    /* Several datagrams are due in a nanosecond. */
    CHECK_EQUAL(due_of(32, 100000000000000, 1, 1, 1000000), 1000 + 2560);
    CHECK_EQUAL(due_of(65535, 1, 1, 4096, 1), 1000 + 65535 * 8 * PL_NS_PER_S * 4096);
    CHECK_EQUAL(due_of(65535, 100000000000000, 4096, 4096, 1000000), 1000 + 5242800);
}

int main(void)
{
    check_even_rates();
    check_uneven_rates();
    check_extremes();
    CHECK_RETURN();
}
