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

/* What is skipped is what single steps would pass, and the schedule goes on as after them. */
static void check_skip(uint64_t unit_bytes, uint64_t rate, pl_ns until_ns)
{
    struct pl_send_schedule stepped;
    struct pl_send_schedule skipped;
    uint64_t count = 0;
    pl_send_schedule_begin(&stepped, 1000, unit_bytes, rate, 1, 3);
    skipped = stepped;
    for (; stepped.due_ns < until_ns; count++)
        pl_send_schedule_advance(&stepped);
    CHECK_EQUAL(pl_send_schedule_skip(&skipped, until_ns), count);
    CHECK_EQUAL(skipped.due_ns, stepped.due_ns);
    CHECK_EQUAL(skipped.owed, stepped.owed);
    CHECK_EQUAL(pl_send_schedule_skip(&skipped, until_ns), 0);
}

static void check_skips(void)
{
    static const pl_ns until_ns[] = {0, 1000, 1001, 1002, 4242, 100003, 20000000};
    for (unsigned i = 0; i < sizeof until_ns / sizeof *until_ns; i++) {
        check_skip(125, 1000000, until_ns[i]);
        check_skip(64, 448, until_ns[i]);
        check_skip(1472, 9999999967, until_ns[i]);
        check_skip(32, 99999999999989, until_ns[i] / 100); /* several in a nanosecond */
        check_skip(65535, 1, until_ns[i]);
    }
}

int main(void)
{
    check_skips();
    check_even_rates();
    check_uneven_rates();
    check_extremes();
    CHECK_RETURN();
}
