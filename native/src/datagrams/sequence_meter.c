#include "datagrams/sequence_meter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = PL_SEQUENCE_WINDOW,
    GAPS = WINDOW / 2,  /* each gap in the window is followed by an arrival in it */
    POSITION_BITS = 16, /* an extent is below 2 * WINDOW */
    JITTER_SHIFT = 4,   /* the gain of 1/16 of RFC 3550 */
};

#define JITTER_STEP_MAX (UINT64_C(1) << 58)

/* Numbers in a row that never arrived; none where `count` is 0. */
struct run {
    uint64_t first;
    uint64_t count;
};

struct pl_sequence_meter {
    uint64_t next; /* the highest number that arrived, plus 1 */
    uint64_t arrivals;
    struct pl_reordering *reordering;
    pl_ns previous_arrived_ns;
    pl_ns previous_sent_ns;
    uint64_t jitter_16ths_ns;
    struct pl_sequence_counts totals;
    struct pl_sequence_counts counts;
    struct pl_number_range range; /* numbers of the measured window that arrived */
    bool closed;
    uint64_t first_sequence;
    struct run run;  /* the latest; it may still grow */
    struct run head; /* the one before the window's lowest arrival */
    struct run tail; /* the one after its highest arrival */
    uint64_t gap_count;
    struct pl_reorder_density density;
    uint64_t arrived[WINDOW / 64];        /* bitmap by number modulo WINDOW */
    uint64_t latest[PL_N_REORDERING_MAX]; /* numbers by arrival */
    uint16_t gap_of[WINDOW];              /* of each missing number */
    uint64_t gap_ends[GAPS];              /* the arrival that skipped them: time and position */
};

struct pl_sequence_meter *pl_sequence_meter_create(const struct pl_meter_settings *settings,
                                                   struct pl_error *error)
{
    struct pl_sequence_meter *meter = calloc(1, sizeof *meter);
    if (meter == NULL) {
        pl_error_set(error, PL_RESOURCES, "memory", ENOMEM, "a stream's sequence numbers");
        return NULL;
    }
    meter->reordering = settings->reordering;
    meter->next = settings->first_sequence;
    meter->first_sequence = settings->first_sequence;
    meter->totals.jitter_ns = -1;
    meter->counts.jitter_ns = -1;
    meter->range = (struct pl_number_range){.low = UINT64_MAX, .high = 0};
    memset(meter->arrived, 0xFF, sizeof meter->arrived); /* what is below the first number is not missing */
    pl_reorder_density_begin(&meter->density, settings->first_sequence);
    return meter;
}

void pl_sequence_meter_free(struct pl_sequence_meter *meter)
{
    free(meter);
}

static uint64_t *word_of(struct pl_sequence_meter *meter, uint64_t number)
{
    return &meter->arrived[number / 64 % (WINDOW / 64)];
}

static uint64_t bit_of(uint64_t number)
{
    return UINT64_C(1) << (number % 64);
}

/* The part of a run that is within first..last. */
static uint64_t clip(const struct run *run, uint64_t first, uint64_t last)
{
    if (run->count == 0)
        return 0;
    uint64_t low = run->first > first ? run->first : first;
    uint64_t end = run->first + run->count - 1;
    uint64_t high = end < last ? end : last;
    return low <= high ? high - low + 1 : 0;
}

static void count_run(struct pl_sequence_meter *meter, uint64_t length)
{
    if (length > 0)
        pl_histogram_add(&meter->reordering->loss_runs, length < INT64_MAX ? (pl_ns)length : INT64_MAX);
}

/* Counts a complete run within the measured window; one at its border is kept until that is known. */
static void place_run(struct pl_sequence_meter *meter, const struct run *run)
{
    const struct pl_number_range *range = &meter->range;
    if (run->count == 0)
        return;
    if (meter->tail.count > 0 && meter->tail.first < range->high) { /* was not the border after all */
        count_run(meter, meter->tail.count);
        meter->tail.count = 0;
    }
    uint64_t end = run->first + run->count;
    if (range->low > range->high || end == range->low)
        meter->head = *run;
    else if (run->first > range->low && end <= range->high)
        count_run(meter, run->count);
    else if (run->first == range->high + 1)
        meter->tail = *run;
}

/* `count` numbers from `first` on did not arrive and no longer can. */
static void lose(struct pl_sequence_meter *meter, uint64_t first, uint64_t count)
{
    if (meter->run.count > 0 && meter->run.first + meter->run.count == first) {
        meter->run.count += count;
        return;
    }
    place_run(meter, &meter->run);
    meter->run = (struct run){.first = first, .count = count};
}

/* `number` enters the window and the number WINDOW below leaves it. */
static void pass(struct pl_sequence_meter *meter, uint64_t number)
{
    if ((*word_of(meter, number) & bit_of(number)) == 0)
        lose(meter, number - WINDOW, 1);
}

static void skip_to(struct pl_sequence_meter *meter, uint64_t number, pl_ns arrived_ns)
{
    uint64_t gap = meter->gap_count++ % GAPS;
    uint64_t end = number - meter->next < WINDOW ? number : meter->next + WINDOW;
    meter->gap_ends[gap] = (uint64_t)arrived_ns << POSITION_BITS | (uint16_t)meter->arrivals;
    for (uint64_t missing = meter->next; missing < end; missing++) {
        pass(meter, missing);
        *word_of(meter, missing) &= ~bit_of(missing);
        meter->gap_of[missing % WINDOW] = (uint16_t)gap;
    }
    if (number > end) /* the window is one gap: all but its numbers are gone */
        lose(meter, meter->next, number - end);
    meter->next = number;
}

/* The highest n for which this arrival is n-reordered: the n arrivals before it all have higher numbers. */
static unsigned n_reordering(const struct pl_sequence_meter *meter, uint64_t number)
{
    unsigned n = 0;
    while (n < PL_N_REORDERING_MAX && n < meter->arrivals &&
           meter->latest[(meter->arrivals - 1 - n) % PL_N_REORDERING_MAX] > number)
        n++;
    return n;
}

/* A first arrival that fills a gap. Its extent counts from the arrival that skipped it. */
static void count_reordered(struct pl_sequence_meter *meter, uint64_t number, pl_ns arrived_ns, bool measured)
{
    uint64_t gap_end = meter->gap_ends[meter->gap_of[number % WINDOW]];
    uint16_t extent = (uint16_t)(meter->arrivals - gap_end);
    uint64_t late_time = ((uint64_t)arrived_ns << POSITION_BITS) - (gap_end & ~(uint64_t)UINT16_MAX);
    meter->totals.reordered++;
    if (!measured)
        return;
    meter->counts.reordered++;
    pl_histogram_add(&meter->reordering->reorder_extents, extent);
    pl_histogram_add(&meter->reordering->late_times_ns, (pl_ns)late_time >> POSITION_BITS);
    pl_histogram_add(&meter->reordering->n_reordering, n_reordering(meter, number));
}

/* J += (|D| - J) / 16, in sixteenths of a nanosecond. */
static void count_jitter(struct pl_sequence_meter *meter, pl_ns sent_ns, pl_ns arrived_ns)
{
    if (meter->totals.received > 1) {
        uint64_t change = ((uint64_t)arrived_ns - (uint64_t)meter->previous_arrived_ns) -
                          ((uint64_t)sent_ns - (uint64_t)meter->previous_sent_ns);
        uint64_t size = change > INT64_MAX ? -change : change;
        size = size < JITTER_STEP_MAX ? size : JITTER_STEP_MAX;
        uint64_t decay = (meter->jitter_16ths_ns + 8) >> JITTER_SHIFT;
        meter->jitter_16ths_ns = meter->jitter_16ths_ns + size - decay;
        meter->totals.jitter_ns = (pl_ns)(meter->jitter_16ths_ns >> JITTER_SHIFT);
    }
    meter->previous_arrived_ns = arrived_ns;
    meter->previous_sent_ns = sent_ns;
}

static void count_unclassified(struct pl_sequence_meter *meter, bool measured)
{
    meter->totals.unclassified++;
    meter->counts.unclassified += measured;
}

void pl_sequence_meter_add(struct pl_sequence_meter *meter, uint64_t sequence, pl_ns sent_ns,
                           pl_ns arrived_ns, bool measured)
{
    measured = measured && !meter->closed;
    uint64_t next = meter->next;
    if (sequence < next) {
        if (next - sequence > WINDOW || sequence < meter->first_sequence) {
            count_unclassified(meter, measured);
            return;
        }
        if ((*word_of(meter, sequence) & bit_of(sequence)) != 0) {
            meter->totals.duplicates++;
            meter->counts.duplicates += measured;
            return;
        }
        count_reordered(meter, sequence, arrived_ns, measured);
    } else {
        if (sequence >= PL_SEQUENCE_NUMBER_END) {
            count_unclassified(meter, measured);
            return;
        }
        if (sequence > next)
            skip_to(meter, sequence, arrived_ns);
        pass(meter, sequence);
        meter->next = sequence + 1;
    }
    *word_of(meter, sequence) |= bit_of(sequence);
    meter->latest[meter->arrivals++ % PL_N_REORDERING_MAX] = sequence;
    meter->totals.received++;
    count_jitter(meter, sent_ns, arrived_ns);
    if (measured) {
        meter->counts.received++;
        meter->counts.jitter_ns = meter->totals.jitter_ns;
        meter->range.low = sequence < meter->range.low ? sequence : meter->range.low;
        meter->range.high = sequence > meter->range.high ? sequence : meter->range.high;
    }
    if ((sequence != next || meter->density.disordered) && !meter->closed)
        pl_reorder_density_add(&meter->density, sequence, next, measured, &meter->range,
                               &meter->reordering->densities);
}

struct pl_sequence_counts pl_sequence_meter_totals(const struct pl_sequence_meter *meter)
{
    struct pl_sequence_counts totals = meter->totals;
    totals.lost = meter->next - meter->first_sequence - totals.received;
    return totals;
}

struct pl_sequence_counts pl_sequence_meter_counts(const struct pl_sequence_meter *meter)
{
    return meter->counts;
}

/* What did not arrive is lost now, also after the highest number that arrived. */
static void end_window(struct pl_sequence_meter *meter, uint64_t last)
{
    for (uint64_t number = meter->next; number < meter->next + WINDOW; number++)
        pass(meter, number);
    if (last + 1 > meter->next && last < PL_SEQUENCE_NUMBER_END)
        lose(meter, meter->next, last - meter->next + 1);
}

struct pl_sequence_counts pl_sequence_meter_close_window(struct pl_sequence_meter *meter, uint64_t first,
                                                         uint64_t last)
{
    if (meter->closed)
        return meter->counts;
    meter->closed = true;
    pl_reorder_density_finish(&meter->density, meter->next, &meter->range, &meter->reordering->densities);
    end_window(meter, last);
    place_run(meter, &meter->run);
    uint64_t sent = last + 1 - first;
    if (sent > 0) {
        count_run(meter, clip(&meter->head, first, last));
        count_run(meter, clip(&meter->tail, first, last));
    }
    meter->counts.lost = sent > meter->counts.received ? sent - meter->counts.received : 0;
    return meter->counts;
}
