/* The probe table: answered, lost, late and duplicate probes; timestamps and clock steps. */
#include "check.h"

#include "probe/probe_table.h"

#define MS PL_NS_PER_MS
#define REAL (INT64_C(1000) * PL_NS_PER_S) /* some CLOCK_REALTIME */

static struct pl_probe_table *make(void)
{
    struct pl_error error = {0};
    struct pl_probe_table *table = pl_probe_table_create(MS, 50 * MS, 200 * MS, &error);
    if (table == NULL)
        exit(EXIT_FAILURE);
    return table;
}

static void enter(struct pl_probe_table *table, uint64_t sequence)
{
    pl_ns at_ns = (pl_ns)sequence * MS;
    const struct pl_probe probe = {.sequence = sequence,
                                   .intended_ns = at_ns,
                                   .sent_ns = at_ns,
                                   .sent_realtime_ns = REAL + at_ns,
                                   .stamp_key = sequence};
    pl_probe_table_enter(table, &probe);
}

static enum pl_answer_kind answer(struct pl_probe_table *table, uint64_t sequence, pl_ns received_ns,
                                  pl_ns kernel_ns, struct pl_probe *probe)
{
    const struct pl_arrival arrival = {.received_ns = received_ns, .kernel_received_ns = kernel_ns};
    return pl_probe_table_answer(table, sequence, &arrival, probe);
}

static void test_round_trips(void)
{
    struct pl_probe_table *table = make();
    struct pl_probe probe;
    for (uint64_t s = 0; s < 6; s++)
        enter(table, s);
    /* Both kernel timestamps. */
    pl_probe_table_stamp(table, 0, REAL + 1000);
    CHECK_EQUAL(answer(table, 0, 10 * MS + 5000, REAL + 10 * MS, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.rtt_ns, 10 * MS - 1000);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_KERNEL);
    /* No transmit timestamp. */
    CHECK_EQUAL(answer(table, 1, 12 * MS, REAL + 11 * MS, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.rtt_ns, 10 * MS);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_KERNEL_RECEIVE);
    /* No timestamp at all. */
    CHECK_EQUAL(answer(table, 2, 12 * MS, 0, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.rtt_ns, 10 * MS);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_USER);
    /* CLOCK_REALTIME was moved by an hour, forwards and backwards. */
    CHECK_EQUAL(answer(table, 3, 13 * MS, REAL + 3600 * PL_NS_PER_S, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.rtt_ns, 10 * MS);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_USER);
    CHECK_EQUAL(answer(table, 4, 14 * MS, REAL - 3600 * PL_NS_PER_S, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_USER);
    /* A timestamp from before the send belongs to another packet. */
    pl_probe_table_stamp(table, 5, REAL + 5 * MS - 1);
    CHECK_EQUAL(answer(table, 5, 15 * MS, REAL + 15 * MS, &probe), PL_ANSWERED);
    CHECK_EQUAL(probe.stamps, PL_STAMPS_KERNEL_RECEIVE);
    pl_probe_table_free(table);
}

/* The echo's holding time is no part of the round trip; an impossible one is ignored. */
static void test_held(void)
{
    struct pl_probe_table *table = make();
    static const struct {
        pl_ns held_ns, rtt_ns, told_ns;
    } cases[] = {
        {-1, 10 * MS, -1}, {3 * MS, 7 * MS, 3 * MS}, {10 * MS, 0, 10 * MS}, {10 * MS + 1, 10 * MS, -1}};
    for (uint64_t s = 0; s < sizeof cases / sizeof cases[0]; s++) {
        struct pl_probe probe;
        pl_ns at_ns = (pl_ns)s * MS + 10 * MS;
        const struct pl_arrival arrival = {.received_ns = at_ns, .held_ns = cases[s].held_ns};
        enter(table, s);
        CHECK_EQUAL(pl_probe_table_answer(table, s, &arrival, &probe), PL_ANSWERED);
        CHECK_EQUAL(probe.rtt_ns, cases[s].rtt_ns);
        CHECK_EQUAL(probe.held_ns, cases[s].told_ns);
    }
    pl_probe_table_free(table);
}

/* RFC 4737: an answer is reordered when the answer to a later probe arrived before it. */
static void test_reordering(void)
{
    struct pl_probe_table *table = make();
    static const uint64_t order[] = {0, 2, 1, 4, 3, 5};
    static const bool reordered[] = {false, false, true, false, true, false};
    for (uint64_t s = 0; s < 6; s++)
        enter(table, s);
    for (size_t i = 0; i < 6; i++) {
        struct pl_probe probe;
        CHECK_EQUAL(answer(table, order[i], 10 * MS, 0, &probe), PL_ANSWERED);
        CHECK_EQUAL(probe.reordered, reordered[i]);
    }
    pl_probe_table_free(table);
}

static void test_verdicts(void)
{
    struct pl_probe_table *table = make();
    struct pl_probe probe;
    CHECK_EQUAL(answer(table, 0, 0, 0, &probe), PL_FOREIGN);
    CHECK_EQUAL(pl_probe_table_deadline_ns(table), INT64_MAX);
    for (uint64_t s = 0; s < 4; s++)
        enter(table, s);
    CHECK_EQUAL(answer(table, 4, 5 * MS, 0, &probe), PL_FOREIGN);
    CHECK_EQUAL(answer(table, 1, 5 * MS, 0, &probe), PL_ANSWERED);
    CHECK_EQUAL(answer(table, 1, 6 * MS, 0, &probe), PL_DUPLICATE);
    CHECK_EQUAL(pl_probe_table_deadline_ns(table), 50 * MS);
    CHECK(!pl_probe_table_give_up(table, 50 * MS - 1, &probe));
    CHECK(pl_probe_table_give_up(table, 50 * MS, &probe));
    CHECK_EQUAL(probe.sequence, 0);
    CHECK(!probe.answered);
    CHECK_EQUAL(answer(table, 0, 51 * MS, 0, &probe), PL_LATE);
    CHECK(probe.answered);
    CHECK_EQUAL(probe.rtt_ns, 51 * MS);
    CHECK_EQUAL(answer(table, 0, 52 * MS, 0, &probe), PL_DUPLICATE);
    pl_probe_table_free(table);
}

/* The time-out follows the slowest answer, late or not, and never shrinks. */
static void test_growth(void)
{
    struct pl_probe_table *table = make();
    struct pl_probe probe;
    for (uint64_t s = 0; s < 4; s++)
        enter(table, s);
    CHECK_EQUAL(answer(table, 0, 10 * MS, 0, &probe), PL_ANSWERED);
    CHECK_EQUAL(pl_probe_table_timeout_ns(table), 50 * MS);
    CHECK_EQUAL(answer(table, 1, 41 * MS, 0, &probe), PL_ANSWERED);
    CHECK_EQUAL(pl_probe_table_timeout_ns(table), 120 * MS);
    CHECK_EQUAL(answer(table, 2, 12 * MS, 0, &probe), PL_ANSWERED);
    CHECK_EQUAL(pl_probe_table_timeout_ns(table), 120 * MS);
    CHECK(!pl_probe_table_give_up(table, 122 * MS, &probe));
    CHECK(pl_probe_table_give_up(table, 123 * MS, &probe));
    CHECK_EQUAL(answer(table, 3, 143 * MS, 0, &probe), PL_LATE);
    CHECK_EQUAL(pl_probe_table_timeout_ns(table), 200 * MS); /* the longest */
    pl_probe_table_free(table);
}

/* Each probe is overdue once, given up or not; answers in time are passed over. */
static void test_overdue(void)
{
    struct pl_probe_table *table = make();
    struct pl_probe probe;
    CHECK_EQUAL(pl_probe_table_overdue_ns(table, 5 * MS), INT64_MAX);
    for (uint64_t s = 0; s < 3; s++)
        enter(table, s);
    CHECK_EQUAL(answer(table, 0, 4 * MS, 0, &probe), PL_ANSWERED);
    CHECK_EQUAL(pl_probe_table_overdue_ns(table, 5 * MS), 6 * MS);
    CHECK(!pl_probe_table_overdue(table, 5 * MS, 6 * MS - 1, &probe));
    CHECK(pl_probe_table_overdue(table, 5 * MS, 6 * MS, &probe));
    CHECK_EQUAL(probe.sequence, 1);
    CHECK(pl_probe_table_was_overdue(table, 1));
    CHECK(!pl_probe_table_was_overdue(table, 2));
    CHECK(pl_probe_table_give_up(table, 51 * MS, &probe));
    CHECK(pl_probe_table_give_up(table, 52 * MS, &probe));
    CHECK(pl_probe_table_overdue(table, 60 * MS, 62 * MS, &probe));
    CHECK_EQUAL(probe.sequence, 2);
    CHECK(!pl_probe_table_overdue(table, 60 * MS, 1000 * MS, &probe));
    pl_probe_table_free(table);
}

/* How long the end of a run is worth waiting for. */
static void test_last_answers(void)
{
    struct pl_probe_table *table = make();
    struct pl_probe probe;
    CHECK_EQUAL(pl_probe_table_last_deadline_ns(table), 0);
    for (uint64_t s = 0; s < 20; s++)
        enter(table, s);
    CHECK_EQUAL(pl_probe_table_last_sent_ns(table), 19 * MS);
    CHECK_EQUAL(pl_probe_table_last_deadline_ns(table), 69 * MS);
    CHECK_EQUAL(answer(table, 10, 20 * MS, 0, &probe), PL_ANSWERED);
    CHECK(pl_probe_table_answered_within(table, 9 * MS));
    CHECK(!pl_probe_table_answered_within(table, 8 * MS));
    for (uint64_t s = 11; s < 20; s++)
        CHECK_EQUAL(answer(table, s, 30 * MS, 0, &probe), PL_ANSWERED);
    CHECK_EQUAL(pl_probe_table_last_deadline_ns(table), 9 * MS + pl_probe_table_timeout_ns(table));
    pl_probe_table_free(table);
}

static void test_room(void)
{
    struct pl_probe_table *table = make();
    struct pl_probe probe;
    uint64_t entered = 0;
    while (pl_probe_table_has_room(table) && entered < 10000)
        enter(table, entered++);
    CHECK(entered >= 50 && entered < 10000);
    CHECK_EQUAL(answer(table, 0, MS, 0, &probe), PL_ANSWERED);
    CHECK(pl_probe_table_has_room(table));
    enter(table, entered);
    CHECK(!pl_probe_table_has_room(table));
    /* Another probe has the slot of probe 0 now. */
    CHECK_EQUAL(answer(table, 0, 2 * MS, 0, &probe), PL_LATE);
    CHECK_EQUAL(answer(table, entered, (pl_ns)entered * MS + MS, 0, &probe), PL_ANSWERED);
    pl_probe_table_free(table);
}

static void test_bound(void)
{
    struct pl_error error = {0};
    CHECK(pl_probe_table_create(100000, 3600 * PL_NS_PER_S, 0, &error) == NULL);
    CHECK_EQUAL(error.status, PL_USAGE);
    CHECK(strstr(error.text, "--timeout-ns is too long for --interval-ns") != NULL);
    /* The maximum: 2^20, including 16 spare ones. */
    CHECK(pl_probe_table_create(MS, ((1 << 20) - 15) * MS, 0, &error) == NULL);
    error = (struct pl_error){0};
    struct pl_probe_table *largest = pl_probe_table_create(MS, ((1 << 20) - 16) * MS, 0, &error);
    CHECK(largest != NULL);
    CHECK_EQUAL(error.status, PL_OK);
    pl_probe_table_free(largest);
}

/* The key of a timestamp is the number of the successful send, which differs from the sequence after a failed
 * one. */
static void test_stamps_after_a_failed_send(void)
{
    struct pl_probe_table *table = make();
    struct pl_probe probe = {.sent_realtime_ns = REAL, .stamp_key = 0};
    pl_probe_table_enter(table, &probe);
    probe = (struct pl_probe){.sequence = 1, .failed = true, .stamp_key = UINT64_MAX};
    pl_probe_table_enter(table, &probe);
    for (uint64_t s = 2; s < 6; s++) {
        probe = (struct pl_probe){.sequence = s, .sent_realtime_ns = REAL, .stamp_key = s - 1};
        pl_probe_table_enter(table, &probe);
    }
    pl_probe_table_stamp(table, 7, REAL + 9); /* of no probe: ignored, and later ones are found */
    for (uint64_t key = 0; key < 5; key++)
        if (key != 3) /* one timestamp is lost */
            pl_probe_table_stamp(table, key, REAL + (pl_ns)key + 1);
    static const uint64_t sequences[] = {0, 2, 3, 4, 5};
    for (uint64_t key = 0; key < 5; key++) {
        bool whole = key != 3;
        CHECK_EQUAL(answer(table, sequences[key], MS, REAL + MS, &probe), PL_ANSWERED);
        CHECK_EQUAL(probe.stamps, whole ? PL_STAMPS_KERNEL : PL_STAMPS_KERNEL_RECEIVE);
        CHECK_EQUAL(probe.rtt_ns, whole ? MS - (pl_ns)key - 1 : MS);
    }
    /* The failed probe is reported in order, still as failed. */
    CHECK(pl_probe_table_give_up(table, 50 * MS, &probe));
    CHECK_EQUAL(probe.sequence, 1);
    CHECK(probe.failed && !probe.answered);
    pl_probe_table_free(table);
}

enum { WALK_PROBES = 20000 };
enum fate { UNDER_WAY, ANSWERED, GIVEN_UP, ANSWERED_LATE };

/* A step of xorshift64: the same sequence on every machine. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Against the simplest model, with one time-out: every probe ends once, as answered in time or as given up,
 * in the order of the sends, whatever is answered in between; one that was given up can be answered once. */
static void test_walk(void)
{
    static enum fate fates[WALK_PROBES];
    struct pl_error error = {0};
    struct pl_probe_table *table = pl_probe_table_create(MS, 50 * MS, 0, &error);
    struct pl_probe probe;
    uint64_t state = 88172645463325252u;
    uint64_t answered = 0, lost = 0, oldest = 0;
    for (uint64_t next = 0; next < WALK_PROBES; next++) {
        pl_ns now_ns = (pl_ns)next * MS;
        CHECK(pl_probe_table_has_room(table));
        enter(table, next);
        for (uint64_t answers = draw(&state) % 3; answers > 0; answers--) {
            uint64_t back = draw(&state) % 60; /* the oldest ones are beyond their 50 ms */
            uint64_t sequence = back <= next ? next - back : 0;
            enum pl_answer_kind verdict = answer(table, sequence, now_ns, 0, &probe);
            enum pl_answer_kind expected = PL_ANSWERED;
            if (fates[sequence] == ANSWERED || fates[sequence] == ANSWERED_LATE)
                expected = PL_DUPLICATE;
            else if (fates[sequence] == GIVEN_UP)
                expected = PL_LATE;
            CHECK_EQUAL(verdict, expected);
            if (verdict != PL_DUPLICATE) {
                CHECK_EQUAL(probe.sequence, sequence);
                CHECK_EQUAL(probe.rtt_ns, (pl_ns)(next - sequence) * MS);
                fates[sequence] = verdict == PL_LATE ? ANSWERED_LATE : ANSWERED;
                answered += verdict == PL_ANSWERED;
            }
        }
        while (pl_probe_table_give_up(table, now_ns, &probe)) {
            CHECK_EQUAL(fates[probe.sequence], UNDER_WAY);
            CHECK(probe.sequence >= oldest && probe.sequence + 50 <= next);
            oldest = probe.sequence;
            fates[probe.sequence] = GIVEN_UP;
            lost++;
        }
        if (next >= 50)
            CHECK(fates[next - 50] != UNDER_WAY);
    }
    CHECK(answered > WALK_PROBES / 4 && lost > WALK_PROBES / 4);
    uint64_t open = 0;
    while (pl_probe_table_give_up(table, INT64_MAX - 1, &probe))
        open++;
    CHECK_EQUAL(answered + lost + open, WALK_PROBES);
    pl_probe_table_free(table);
}

int main(void)
{
    test_round_trips();
    test_held();
    test_reordering();
    test_verdicts();
    test_growth();
    test_overdue();
    test_last_answers();
    test_room();
    test_bound();
    test_stamps_after_a_failed_send();
    test_walk();
    CHECK_RETURN();
}
