/* Intended times: exact for rates that do not divide a second, and without an error that grows. */
#include "check.h"
#include "messages/schedule.h"

int main(void)
{
    const struct pl_schedule even = {.start_ns = 7, .rate_per_s = 1000, .messages = 1};
    CHECK_EQUAL(pl_schedule_due_ns(&even, 0), 7);
    CHECK_EQUAL(pl_schedule_due_ns(&even, 1), 7 + 1000000);
    CHECK_EQUAL(pl_schedule_due_ns(&even, UINT64_C(3600) * 1000), 7 + 3600 * PL_NS_PER_S);
    const struct pl_schedule third = {.start_ns = 0, .rate_per_s = 3, .messages = 1};
    CHECK_EQUAL(pl_schedule_due_ns(&third, 1), 333333333);
    CHECK_EQUAL(pl_schedule_due_ns(&third, 2), 666666666);
    CHECK_EQUAL(pl_schedule_due_ns(&third, 3000000), 1000000 * PL_NS_PER_S);
    /* Rounds over four streams at 1,000 messages/s are 4 ms apart. */
    const struct pl_schedule rounds = {.start_ns = 0, .rate_per_s = 1000, .messages = 4};
    CHECK_EQUAL(pl_schedule_due_ns(&rounds, 1), 4 * PL_NS_PER_MS);
    const struct pl_schedule fastest = {.start_ns = 0, .rate_per_s = 1000000000, .messages = 256};
    CHECK_EQUAL(pl_schedule_due_ns(&fastest, 1000000000), 256 * PL_NS_PER_S);

    pl_ns spun_ns = 0;
    pl_ns past_ns = pl_now_ns() - PL_NS_PER_S;
    CHECK(pl_wait_until(past_ns, &spun_ns) - past_ns >= PL_NS_PER_S);
    CHECK_EQUAL(spun_ns, 0);
    for (int i = 0; i < 10; i++) {
        pl_ns due_ns = pl_now_ns() + PL_NS_PER_MS;
        CHECK(pl_wait_until(due_ns, &spun_ns) >= due_ns);
    }
    CHECK(spun_ns >= 0);
    CHECK(spun_ns <= 10 * 40000); /* the rest was slept */
    pl_ns near_ns = pl_now_ns() + 20000;
    pl_ns before_ns = spun_ns;
    CHECK(pl_wait_until(near_ns, &spun_ns) >= near_ns);
    CHECK(spun_ns - before_ns <= 30000);
    CHECK_RETURN();
}
