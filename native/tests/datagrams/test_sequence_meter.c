/* The examples of RFC 4737 and RFC 5236, gaps, duplicates, windows, the limits of memory and of numbers. */
#include "check.h"
#include "datagrams/sequence_meter.h"

enum { MS = 1000000, STEP_MS = 20, DELAY_MS = 68 };

static struct pl_reordering *reordering;

static struct pl_sequence_meter *begin(uint64_t first)
{
    free(reordering);
    reordering = calloc(1, sizeof *reordering);
    const struct pl_meter_settings settings = {reordering, first};
    return pl_sequence_meter_create(&settings, NULL);
}

/* Numbers of one digit each (a: 10, b: 11), 20 ms apart; all of them are measured. */
static struct pl_sequence_counts feed(const char *numbers, uint64_t last)
{
    struct pl_sequence_meter *meter = begin(1);
    for (pl_ns i = 0; numbers[i] != '\0'; i++) {
        uint64_t number = (uint64_t)(numbers[i] >= 'a' ? numbers[i] - 'a' + 10 : numbers[i] - '0');
        pl_sequence_meter_add(meter, number, (pl_ns)(number - 1) * STEP_MS * MS,
                              (DELAY_MS + i * STEP_MS) * MS, true);
    }
    struct pl_sequence_counts counts = pl_sequence_meter_close_window(meter, 1, last);
    pl_sequence_meter_free(meter);
    return counts;
}

static void check_counts(struct pl_sequence_counts found, uint64_t received, uint64_t lost,
                         uint64_t duplicate, uint64_t reordered)
{
    CHECK_EQUAL(found.received, received);
    CHECK_EQUAL(found.lost, lost);
    CHECK_EQUAL(found.duplicates, duplicate);
    CHECK_EQUAL(found.reordered, reordered);
    CHECK_EQUAL(found.unclassified, 0);
}

static void check_written(const char *want)
{
    struct pl_json j = {0};
    pl_reordering_write(reordering, &j, NULL);
    j.data[j.length] = '\0';
    CHECK_TEXT(j.data, want);
    pl_json_release(&j);
}

/* RFC 4737 section 9.1: datagram 4 has an extent of 4 and is 4-reordered; 9.2: datagrams 5 and 6 after
 * 7; 9.3: datagrams 4 to 6 after 10, of which only the first is n-reordered. */
static void check_rfc_4737(void)
{
    check_counts(feed("123567849a", 10), 10, 0, 0, 1);
    check_written(
        "{\"loss_runs\":[],\"reorder_extents\":[[4,4,1]],\"late_times_ns\":[[79691776,80000000,1]],"
        "\"n_reordering\":[[4,4,1]],\"reorder_density\":[[-1,4],[0,5],[4,1]],\"displaced_beyond\":0,"
        "\"buffer_density\":[[0,6],[1,1],[2,1],[3,1],[4,1]],\"occupied_beyond\":0}");
    check_counts(feed("123475689a", 10), 10, 0, 0, 2);
    CHECK_EQUAL(reordering->reorder_extents.counts[1], 1);
    CHECK_EQUAL(reordering->reorder_extents.counts[2], 1);
    CHECK_EQUAL(reordering->n_reordering.counts[0], 1);
    CHECK_EQUAL(reordering->n_reordering.counts[1], 1);
    check_counts(feed("123789a456b", 11), 11, 0, 0, 3);
    CHECK_EQUAL(reordering->reorder_extents.counts[4], 1);
    CHECK_EQUAL(reordering->reorder_extents.counts[5], 1);
    CHECK_EQUAL(reordering->reorder_extents.counts[6], 1);
    CHECK_EQUAL(reordering->n_reordering.counts[4], 1);
    CHECK_EQUAL(reordering->n_reordering.counts[0], 2);
}

static uint64_t displaced(int by)
{
    return reordering->densities.displacements[PL_DISPLACEMENT_MAX + by];
}

/* RFC 5236 section 3: receive indices 1 to 5; then 1, 3, 4, 5, since 2 is lost and 3 is duplicated. */
static void check_rfc_5236(void)
{
    check_counts(feed("21453", 5), 5, 0, 0, 2);
    CHECK_EQUAL(displaced(-1), 3);
    CHECK_EQUAL(displaced(1), 1);
    CHECK_EQUAL(displaced(2), 1);
    check_counts(feed("14353", 5), 4, 1, 1, 1);
    CHECK_EQUAL(displaced(0), 2);
    CHECK_EQUAL(displaced(-1), 1);
    CHECK_EQUAL(displaced(1), 1);
    CHECK_EQUAL(reordering->loss_runs.counts[1], 1);
    check_counts(feed("14253678", 8), 8, 0, 0, 2);
    CHECK_EQUAL(displaced(0), 4);
    CHECK_EQUAL(displaced(-2), 1);
    CHECK_EQUAL(displaced(-1), 1);
    CHECK_EQUAL(displaced(1), 1);
    CHECK_EQUAL(displaced(2), 1);
    CHECK_EQUAL(reordering->densities.occupancies[0], 5);
    CHECK_EQUAL(reordering->densities.occupancies[1], 2);
    CHECK_EQUAL(reordering->densities.occupancies[2], 1);
}

/* Losses at the beginning, in the middle and at the end; all of a window. */
static void check_losses(void)
{
    check_counts(feed("3467", 9), 4, 5, 0, 0);
    CHECK_EQUAL(reordering->loss_runs.counts[2], 2);
    CHECK_EQUAL(reordering->loss_runs.counts[1], 1);
    check_counts(feed("", 9), 0, 9, 0, 0);
    CHECK_EQUAL(reordering->loss_runs.counts[9], 1);
    check_counts(feed("", 0), 0, 0, 0, 0);
    CHECK_EQUAL(reordering->loss_runs.count, 0);
    check_counts(feed("1", 1), 1, 0, 0, 0);
    CHECK_EQUAL(feed("1", 1).jitter_ns, -1);
    CHECK_EQUAL(feed("12", 2).jitter_ns, 0);
}

static void add_measured(struct pl_sequence_meter *meter, uint64_t number, bool measured)
{
    pl_sequence_meter_add(meter, number, (pl_ns)number, (pl_ns)number, measured);
}

static void add(struct pl_sequence_meter *meter, uint64_t number)
{
    add_measured(meter, number, true);
}

/* Only datagrams that were sent in the window count, and runs of losses are cut at its ends: 10..19 are
 * measured; 8..11 and 18..21 are lost. 15 arrives after the window has ended. */
static void check_window(void)
{
    struct pl_sequence_meter *meter = begin(0);
    for (uint64_t number = 0; number < 30; number++)
        if ((number < 8 || number > 11) && (number < 18 || number > 21) && number != 15)
            add_measured(meter, number, number >= 10 && number < 20);
    add(meter, 15);
    add(meter, 15);
    add_measured(meter, 3, false);
    struct pl_sequence_counts totals = pl_sequence_meter_totals(meter);
    CHECK_EQUAL(totals.received, 22);
    CHECK_EQUAL(totals.lost, 8);
    CHECK_EQUAL(totals.duplicates, 2);
    check_counts(pl_sequence_meter_close_window(meter, 10, 19), 6, 4, 1, 1);
    CHECK_EQUAL(reordering->loss_runs.counts[2], 2);
    CHECK_EQUAL(reordering->loss_runs.count, 2);
    CHECK_EQUAL(reordering->reorder_extents.counts[10], 1);
    add(meter, 16); /* after the end nothing changes but the totals */
    check_counts(pl_sequence_meter_close_window(meter, 10, 19), 6, 4, 1, 1);
    CHECK_EQUAL(pl_sequence_meter_totals(meter).duplicates, 3);
    pl_sequence_meter_free(meter);
}

/* The oldest number of the window can still arrive, the one below it is neither late nor a duplicate. */
static void check_age(void)
{
    struct pl_sequence_meter *meter = begin(0);
    for (uint64_t number = 2; number <= PL_SEQUENCE_WINDOW; number++)
        add(meter, number);
    add(meter, 0);
    add(meter, 1);
    add(meter, 1);
    pl_sequence_meter_add(meter, PL_SEQUENCE_NUMBER_END, 0, 0, true);
    struct pl_sequence_counts counts = pl_sequence_meter_close_window(meter, 0, PL_SEQUENCE_WINDOW);
    CHECK_EQUAL(counts.unclassified, 2);
    CHECK_EQUAL(counts.reordered, 1);
    CHECK_EQUAL(counts.duplicates, 1);
    CHECK_EQUAL(counts.lost, 1);
    CHECK_EQUAL(reordering->reorder_extents.max_ns, PL_SEQUENCE_WINDOW - 1);
    CHECK_EQUAL(reordering->n_reordering.max_ns, PL_N_REORDERING_MAX);
    CHECK_EQUAL(reordering->loss_runs.counts[1], 1);
    pl_sequence_meter_free(meter);
}

/* Every other datagram is late by as much as the window has room for: the most gaps at a time. */
static void check_most_gaps(void)
{
    struct pl_sequence_meter *meter = begin(0);
    const uint64_t count = 5 * PL_SEQUENCE_WINDOW;
    const uint64_t behind = PL_SEQUENCE_WINDOW - 1;
    for (uint64_t number = 1; number < count + behind; number += 2) {
        if (number < count)
            add(meter, number);
        if (number >= behind)
            add(meter, number - behind);
    }
    check_counts(pl_sequence_meter_close_window(meter, 0, count - 1), count, 0, 0, count / 2);
    CHECK_EQUAL(reordering->late_times_ns.count, count / 2);
    pl_sequence_meter_free(meter);
}

/* Numbers have 64 bits: nothing happens at 2^32; a gap of more than that is one run. */
static void check_large_numbers(void)
{
    const uint64_t start = UINT64_C(0xFFFFFFF0);
    struct pl_sequence_meter *meter = begin(start);
    for (uint64_t i = 0; i < 64; i++)
        if (i != 16)
            add(meter, start + i);
    add(meter, start + 16);
    add(meter, UINT64_C(1) << 40);
    add(meter, (UINT64_C(1) << 40) - 1);
    uint64_t lost = (UINT64_C(1) << 40) - 1 - start - 64;
    check_counts(pl_sequence_meter_close_window(meter, start, UINT64_C(1) << 40), 66, lost, 0, 2);
    CHECK_EQUAL(reordering->loss_runs.max_ns, lost);
    CHECK_EQUAL(reordering->loss_runs.count, 1);
    CHECK_EQUAL(reordering->reorder_extents.counts[47], 1);
    CHECK_EQUAL(reordering->reorder_extents.counts[1], 1);
    pl_sequence_meter_free(meter);
}

/* RFC 3550: a step of the transit time by 1.6 ms moves the estimate by a sixteenth; a step of the clock is
 * bounded. */
static void check_jitter(void)
{
    struct pl_sequence_meter *meter = begin(0);
    pl_sequence_meter_add(meter, 0, 0, 5 * MS, true);
    pl_sequence_meter_add(meter, 1, MS, 6 * MS + 1600000, true);
    CHECK_EQUAL(pl_sequence_meter_totals(meter).jitter_ns, 100000);
    pl_sequence_meter_add(meter, 1, MS, 90 * MS, true); /* a duplicate does not count */
    CHECK_EQUAL(pl_sequence_meter_totals(meter).jitter_ns, 100000);
    pl_sequence_meter_add(meter, 2, INT64_MAX, 0, true);
    CHECK(pl_sequence_meter_totals(meter).jitter_ns > 0);
    pl_sequence_meter_free(meter);
}

static void check_merging(void)
{
    (void)feed("123567849a", 12);
    struct pl_reordering *sum = calloc(1, sizeof *sum);
    pl_reordering_add(sum, reordering);
    pl_reordering_add(sum, reordering);
    CHECK_EQUAL(sum->reorder_extents.counts[4], 2);
    CHECK_EQUAL(sum->loss_runs.counts[2], 2);
    CHECK_EQUAL(sum->n_reordering.counts[4], 2);
    CHECK_EQUAL(sum->late_times_ns.count, 2);
    CHECK_EQUAL(sum->densities.displacements[PL_DISPLACEMENT_MAX + 4], 2);
    CHECK_EQUAL(sum->densities.occupancies[0], 12);
    free(sum);
}

int main(void)
{
    check_rfc_4737();
    check_rfc_5236();
    check_losses();
    check_window();
    check_age();
    check_most_gaps();
    check_large_numbers();
    check_jitter();
    check_merging();
    free(reordering);
    CHECK_RETURN();
}
