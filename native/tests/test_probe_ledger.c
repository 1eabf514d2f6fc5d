/* The ledger of probes: answered, lost, late, twice; stamps and clock steps. */
#include "check.h"

#include "probe_ledger.h"

#define MS PL_NS_PER_MS
#define REAL (INT64_C(1000) * PL_NS_PER_S) /* some CLOCK_REALTIME */

static struct pl_probe_ledger *make(void)
{
    struct pl_error error = {0};
    struct pl_probe_ledger *ledger = pl_probe_ledger_create(MS, 50 * MS, &error);
    if (ledger == NULL)
        exit(EXIT_FAILURE);
    return ledger;
}

static void enter(struct pl_probe_ledger *ledger, uint64_t sequence)
{
    pl_ns at_ns = (pl_ns)sequence * MS;
    const struct pl_probe probe = {.sequence = sequence,
                                   .intended_ns = at_ns,
                                   .sent_ns = at_ns,
                                   .sent_realtime_ns = REAL + at_ns,
                                   .stamp_key = sequence};
    pl_probe_ledger_enter(ledger, &probe);
}

static enum pl_verdict answer(struct pl_probe_ledger *ledger, uint64_t sequence, pl_ns received_ns,
                              pl_ns kernel_ns, struct pl_probe *probe)
{
    const struct pl_arrival arrival = {.received_ns = received_ns, .kernel_received_ns = kernel_ns};
    return pl_probe_ledger_answer(ledger, sequence, &arrival, probe);
}

static void test_round_trips(void)
{
    struct pl_probe_ledger *ledger = make();
    struct pl_probe probe;
    for (uint64_t s = 0; s < 6; s++)
        enter(ledger, s);
    /* Both kernel stamps. */
    pl_probe_ledger_stamp(ledger, 0, REAL + 1000);
    CHECK_EQUAL(answer(ledger, 0, 10 * MS + 5000, REAL + 10 * MS, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.rtt_ns, 10 * MS - 1000);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_KERNEL);
    /* No transmit stamp. */
    CHECK_EQUAL(answer(ledger, 1, 12 * MS, REAL + 11 * MS, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.rtt_ns, 10 * MS);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_KERNEL_RECEIVE);
    /* No stamp at all. */
    CHECK_EQUAL(answer(ledger, 2, 12 * MS, 0, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.rtt_ns, 10 * MS);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_USER);
    /* CLOCK_REALTIME was set by an hour, forwards and backwards. */
    CHECK_EQUAL(answer(ledger, 3, 13 * MS, REAL + 3600 * PL_NS_PER_S, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.rtt_ns, 10 * MS);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_USER);
    CHECK_EQUAL(answer(ledger, 4, 14 * MS, REAL - 3600 * PL_NS_PER_S, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_USER);
    /* A stamp from before the send is another's. */
    pl_probe_ledger_stamp(ledger, 5, REAL + 5 * MS - 1);
    CHECK_EQUAL(answer(ledger, 5, 15 * MS, REAL + 15 * MS, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_KERNEL_RECEIVE);
    pl_probe_ledger_free(ledger);
}

static void test_verdicts(void)
{
    struct pl_probe_ledger *ledger = make();
    struct pl_probe probe;
    CHECK_EQUAL(answer(ledger, 0, 0, 0, &probe), PL_FOREIGN);
    CHECK_EQUAL(pl_probe_ledger_deadline_ns(ledger), INT64_MAX);
    for (uint64_t s = 0; s < 4; s++)
        enter(ledger, s);
    CHECK_EQUAL(answer(ledger, 4, 5 * MS, 0, &probe), PL_FOREIGN);
    CHECK_EQUAL(answer(ledger, 1, 5 * MS, 0, &probe), PL_ANSWERED);
    CHECK_EQUAL(answer(ledger, 1, 6 * MS, 0, &probe), PL_DUPLICATE);
    CHECK_EQUAL(pl_probe_ledger_deadline_ns(ledger), 50 * MS);
    CHECK(!pl_probe_ledger_give_up(ledger, 50 * MS - 1, &probe));
    CHECK(pl_probe_ledger_give_up(ledger, 50 * MS, &probe));
    CHECK_EQUAL(probe.sequence, 0);
    CHECK(!probe.answered);
    CHECK_EQUAL(answer(ledger, 0, 51 * MS, 0, &probe), PL_LATE);
    /* Older than its time-out, although not given up yet: late, and then lost in its turn. */
    CHECK_EQUAL(answer(ledger, 2, 53 * MS, 0, &probe), PL_LATE);
    CHECK(pl_probe_ledger_give_up(ledger, 60 * MS, &probe));
    CHECK_EQUAL(probe.sequence, 2);
    CHECK(pl_probe_ledger_give_up(ledger, 60 * MS, &probe));
    CHECK_EQUAL(probe.sequence, 3);
    CHECK(!pl_probe_ledger_give_up(ledger, 60 * MS, &probe));
    pl_probe_ledger_free(ledger);
}

static void test_room(void)
{
    struct pl_probe_ledger *ledger = make();
    struct pl_probe probe;
    uint64_t entered = 0;
    while (pl_probe_ledger_has_room(ledger) && entered < 10000)
        enter(ledger, entered++);
    CHECK(entered >= 50 && entered < 10000);
    CHECK_EQUAL(answer(ledger, 0, MS, 0, &probe), PL_ANSWERED);
    CHECK(pl_probe_ledger_has_room(ledger));
    enter(ledger, entered);
    CHECK(!pl_probe_ledger_has_room(ledger));
    /* The place of probe 0 is another's now. */
    CHECK_EQUAL(answer(ledger, 0, 2 * MS, 0, &probe), PL_LATE);
    CHECK_EQUAL(answer(ledger, entered, (pl_ns)entered * MS + MS, 0, &probe), PL_ANSWERED);
    pl_probe_ledger_free(ledger);
}

static void test_bound(void)
{
    struct pl_error error = {0};
    CHECK(pl_probe_ledger_create(100000, 3600 * PL_NS_PER_S, &error) == NULL);
    CHECK_EQUAL(error.status, PL_USAGE);
}

int main(void)
{
    test_round_trips();
    test_verdicts();
    test_room();
    test_bound();
    CHECK_RETURN();
}
