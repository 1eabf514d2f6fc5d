/* The log: intervals that begin anew after the warm-up, gaps, and a reader that is late. */
#include "check.h"
#include "messages/latency_log.h"

#define INTERVAL 100
#define WARMUP 250

static void check_next(struct pl_latency_log *log, pl_ns start_ns, pl_ns end_ns, uint64_t count)
{
    const struct pl_latency_slot *slot = pl_latency_log_next(log);
    CHECK(slot != NULL);
    if (slot == NULL)
        return;
    CHECK_EQUAL(slot->start_ns, start_ns);
    CHECK_EQUAL(slot->end_ns, end_ns);
    CHECK_EQUAL(slot->durations.count, count);
    pl_latency_log_release(log);
}

static void check_grid(void)
{
    struct pl_latency_log *log = pl_latency_log_create(INTERVAL, WARMUP);
    static const pl_ns at[] = {0, 99, 100, 249, 250, 349, 350, 620};
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
        pl_latency_log_add(log, at[i], 5);
    pl_latency_log_finish(log);
    check_next(log, 0, 100, 2);
    check_next(log, 100, 200, 1);
    check_next(log, 200, 250, 1); /* the last of the warm-up is shorter */
    check_next(log, 250, 350, 2);
    check_next(log, 350, 450, 1);
    check_next(log, 550, 650, 1); /* intervals without a value are left out */
    CHECK(pl_latency_log_next(log) == NULL);
    free(log);
}

/* Nothing is lost when nobody reads: the last open interval grows. */
static void check_late_reader(void)
{
    struct pl_latency_log *log = pl_latency_log_create(INTERVAL, 0);
    uint64_t sum = 0;
    pl_ns last_ns = 0;
    for (int i = 0; i < 100; i++)
        pl_latency_log_add(log, (pl_ns)i * INTERVAL, 5);
    pl_latency_log_finish(log);
    const struct pl_latency_slot *slot;
    while ((slot = pl_latency_log_next(log)) != NULL) {
        CHECK(slot->start_ns >= last_ns);
        last_ns = slot->end_ns;
        sum += slot->durations.count;
        pl_latency_log_release(log);
    }
    CHECK_EQUAL(sum, 100);
    CHECK_EQUAL(last_ns, 100 * INTERVAL);
    free(log);
}

/* A warm-up shorter than an interval ends where it ends. */
static void check_short_warmup(void)
{
    struct pl_latency_log *log = pl_latency_log_create(INTERVAL, 30);
    pl_latency_log_add(log, 29, 5);
    pl_latency_log_add(log, 30, 5);
    pl_latency_log_finish(log);
    check_next(log, 0, 30, 1);
    check_next(log, 30, 130, 1);
    free(log);
}

/* A reader that is late at the end of the warm-up: its last interval grows, and the window begins anew. */
static void check_late_reader_of_the_warmup(void)
{
    enum { INTERVALS = 20 };
    struct pl_latency_log *log = pl_latency_log_create(INTERVAL, INTERVALS * INTERVAL);
    for (pl_ns at_ns = 0; at_ns < (pl_ns)2 * INTERVALS * INTERVAL; at_ns += INTERVAL)
        pl_latency_log_add(log, at_ns, 5);
    pl_latency_log_finish(log);
    uint64_t before = 0;
    uint64_t after = 0;
    const struct pl_latency_slot *slot;
    while ((slot = pl_latency_log_next(log)) != NULL) {
        CHECK(slot->start_ns >= log->warmup_ns || slot->end_ns <= log->warmup_ns);
        *(slot->start_ns < log->warmup_ns ? &before : &after) += slot->durations.count;
        pl_latency_log_release(log);
    }
    CHECK_EQUAL(before, INTERVALS);
    CHECK_EQUAL(after, INTERVALS);
    free(log);
}

int main(void)
{
    check_late_reader_of_the_warmup();
    check_grid();
    check_late_reader();
    check_short_warmup();
    CHECK_RETURN();
}
