/* The time line of a trial: ends of intervals, phases, lateness, cuts. */
#include "check.h"
#include "flow/phases.h"

enum { TICK = 100, WARMUP = 250, STEADY = 430 };

static void check_interval(const struct pl_interval *got, int64_t index, enum pl_phase phase, pl_ns start_ns,
                           pl_ns end_ns)
{
    CHECK_EQUAL(got->index, index);
    CHECK_EQUAL(got->phase, phase);
    CHECK_EQUAL(got->span.start_ns, start_ns);
    CHECK_EQUAL(got->span.end_ns, end_ns);
}

static void check_span(const struct pl_phases *phases, enum pl_phase phase, pl_ns start_ns, pl_ns end_ns)
{
    CHECK_EQUAL(phases->spans[phase].start_ns, start_ns);
    CHECK_EQUAL(phases->spans[phase].end_ns, end_ns);
}

/* Closes each interval when it is due: the grid begins anew with each phase, which ends as planned. */
static void check_grid(void)
{
    static const struct {
        pl_ns end_ns;
        enum pl_phase phase;
    } due[] = {
        {100, PL_WARMUP}, {200, PL_WARMUP}, {250, PL_WARMUP}, {350, PL_STEADY}, {450, PL_STEADY},
        {550, PL_STEADY}, {650, PL_STEADY}, {680, PL_STEADY}, {780, PL_DRAIN},  {880, PL_DRAIN},
    };
    struct pl_phases phases;
    pl_phases_begin(&phases, TICK, WARMUP, STEADY);
    pl_ns open_ns = 0;
    for (size_t i = 0; i < sizeof due / sizeof due[0]; i++) {
        CHECK_EQUAL(pl_phases_next_ns(&phases), due[i].end_ns);
        CHECK_EQUAL(phases.current, due[i].phase);
        struct pl_interval closed = pl_phases_close(&phases, due[i].end_ns);
        check_interval(&closed, (int64_t)i, due[i].phase, open_ns, due[i].end_ns);
        open_ns = due[i].end_ns;
    }
    (void)pl_phases_close(&phases, 930); /* the last one ends with the drain, off the grid */
    pl_phases_finish(&phases);
    check_span(&phases, PL_WARMUP, 0, 250);
    check_span(&phases, PL_STEADY, 250, 680);
    check_span(&phases, PL_DRAIN, 680, 930);
}

/* A phase continues one nanosecond before its end, and is over at its end. */
static void check_boundary(void)
{
    struct pl_phases phases;
    pl_phases_begin(&phases, TICK, WARMUP, STEADY);
    (void)pl_phases_close(&phases, 249);
    CHECK_EQUAL(phases.current, PL_WARMUP);
    CHECK_EQUAL(pl_phases_next_ns(&phases), 250);
    struct pl_interval closed = pl_phases_close(&phases, 250);
    check_interval(&closed, 1, PL_WARMUP, 249, 250);
    CHECK_EQUAL(phases.current, PL_STEADY);
    (void)pl_phases_close(&phases, 679);
    CHECK_EQUAL(phases.current, PL_STEADY);
    (void)pl_phases_close(&phases, 680);
    CHECK_EQUAL(phases.current, PL_DRAIN);
}

static void check_late(void)
{
    struct pl_phases phases;
    pl_phases_begin(&phases, TICK, WARMUP, STEADY);
    /* 137 late by 37: recorded as sampled, and the next one is on the grid again. */
    struct pl_interval closed = pl_phases_close(&phases, 137);
    check_interval(&closed, 0, PL_WARMUP, 0, 137);
    CHECK_EQUAL(pl_phases_next_ns(&phases), 200);
    /* The warm-up's end is missed by 20: it lasts until the sample; the steady grid starts as planned. */
    closed = pl_phases_close(&phases, 270);
    check_interval(&closed, 1, PL_WARMUP, 137, 270);
    check_span(&phases, PL_WARMUP, 0, 270);
    CHECK_EQUAL(phases.spans[PL_STEADY].start_ns, 270);
    CHECK_EQUAL(pl_phases_next_ns(&phases), 350);
    /* Several missed boundaries are skipped. */
    closed = pl_phases_close(&phases, 580);
    check_interval(&closed, 2, PL_STEADY, 270, 580);
    CHECK_EQUAL(pl_phases_next_ns(&phases), 650);
}

/* A sample that misses a whole phase: the phase has length 0, and its bytes count in the earlier one. */
static void check_missed_phase(void)
{
    struct pl_phases phases;
    pl_phases_begin(&phases, TICK, WARMUP, STEADY);
    struct pl_interval closed = pl_phases_close(&phases, 5000);
    check_interval(&closed, 0, PL_WARMUP, 0, 5000);
    CHECK_EQUAL(phases.current, PL_DRAIN);
    check_span(&phases, PL_WARMUP, 0, 5000);
    check_span(&phases, PL_STEADY, 5000, 5000);
    CHECK_EQUAL(phases.spans[PL_DRAIN].start_ns, 5000);
    CHECK(pl_phases_next_ns(&phases) > 5000);
}

static void check_no_warmup(void)
{
    struct pl_phases phases;
    pl_phases_begin(&phases, TICK, 0, STEADY);
    CHECK_EQUAL(phases.current, PL_STEADY);
    check_span(&phases, PL_WARMUP, 0, 0);
    struct pl_interval closed = pl_phases_close(&phases, pl_phases_next_ns(&phases));
    check_interval(&closed, 0, PL_STEADY, 0, 100);
    (void)pl_phases_close(&phases, 430);
    pl_phases_finish(&phases);
    check_span(&phases, PL_STEADY, 0, 430);
    check_span(&phases, PL_DRAIN, 430, 430);
}

/* An interval longer than a phase ends with the phase. */
static void check_long_interval(void)
{
    struct pl_phases phases;
    pl_phases_begin(&phases, 10000, WARMUP, STEADY);
    CHECK_EQUAL(pl_phases_next_ns(&phases), WARMUP);
    (void)pl_phases_close(&phases, WARMUP);
    CHECK_EQUAL(pl_phases_next_ns(&phases), WARMUP + STEADY);
    (void)pl_phases_close(&phases, WARMUP + STEADY);
    CHECK_EQUAL(pl_phases_next_ns(&phases), WARMUP + STEADY + 10000);
}

static void check_cut(void)
{
    struct pl_phases phases;
    pl_phases_begin(&phases, TICK, WARMUP, STEADY);
    (void)pl_phases_close(&phases, 250);
    (void)pl_phases_close(&phases, 333);
    pl_phases_cut(&phases);
    CHECK_EQUAL(phases.current, PL_DRAIN);
    check_span(&phases, PL_STEADY, 250, 333);
    CHECK_EQUAL(phases.spans[PL_DRAIN].start_ns, 333);
    CHECK_EQUAL(pl_phases_next_ns(&phases), 433); /* the drain's grid begins at the cut */
    pl_phases_cut(&phases);                       /* a second cut changes nothing */
    check_span(&phases, PL_STEADY, 250, 333);
    struct pl_interval closed = pl_phases_close(&phases, 400);
    check_interval(&closed, 2, PL_DRAIN, 333, 400);
    pl_phases_finish(&phases);
    check_span(&phases, PL_DRAIN, 333, 400);
}

static void check_cut_in_warmup(void)
{
    struct pl_phases phases;
    pl_phases_begin(&phases, TICK, WARMUP, STEADY);
    (void)pl_phases_close(&phases, 120);
    pl_phases_finish(&phases);
    check_span(&phases, PL_WARMUP, 0, 120);
    check_span(&phases, PL_STEADY, 120, 120);
    check_span(&phases, PL_DRAIN, 120, 120);
}

/* With any lateness of samples, intervals follow each other without a gap, and each phase is exactly the sum
 * of its intervals. */
static void check_partition(void)
{
    uint64_t state = 1;
    for (int round = 0; round < 500; round++) {
        struct pl_phases phases;
        pl_phases_begin(&phases, TICK, round % 3 * 130, 1 + round * 7);
        pl_ns sums[PL_PHASE_COUNT] = {0};
        pl_ns open_ns = 0;
        for (int64_t i = 0; i < 40; i++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
            pl_ns late_ns = (pl_ns)(state >> 33) % 10 == 0 ? (pl_ns)(state >> 40) % 700 : 0;
            pl_ns due_ns = pl_phases_next_ns(&phases);
            CHECK(due_ns > open_ns);
            struct pl_interval closed = pl_phases_close(&phases, due_ns + late_ns);
            check_interval(&closed, i, closed.phase, open_ns, due_ns + late_ns);
            open_ns = closed.span.end_ns;
            sums[closed.phase] += closed.span.end_ns - closed.span.start_ns;
        }
        pl_phases_finish(&phases);
        pl_ns at_ns = 0;
        for (size_t p = 0; p < PL_PHASE_COUNT; p++) {
            CHECK_EQUAL(phases.spans[p].start_ns, at_ns);
            CHECK_EQUAL(phases.spans[p].end_ns - phases.spans[p].start_ns, sums[p]);
            at_ns = phases.spans[p].end_ns;
        }
        CHECK_EQUAL(at_ns, open_ns);
    }
}

static void check_names(void)
{
    CHECK_TEXT(pl_phase_name(PL_WARMUP), "warmup");
    CHECK_TEXT(pl_phase_name(PL_STEADY), "steady");
    CHECK_TEXT(pl_phase_name(PL_DRAIN), "drain");
}

int main(void)
{
    check_grid();
    check_boundary();
    check_late();
    check_missed_phase();
    check_no_warmup();
    check_long_interval();
    check_cut();
    check_cut_in_warmup();
    check_partition();
    check_names();
    CHECK_RETURN();
}
