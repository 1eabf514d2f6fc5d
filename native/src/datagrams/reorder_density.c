#include "datagrams/reorder_density.h"

#include <stddef.h>

enum { WINDOW = PL_DISPLACEMENT_MAX + 1 };

static bool within(const struct pl_number_range *range, uint64_t number)
{
    return number >= range->low && number <= range->high;
}

/* How many of the numbers from..until - 1 are in the range. */
static uint64_t overlap(const struct pl_number_range *range, uint64_t from, uint64_t until)
{
    if (range->low > range->high || from >= until)
        return 0;
    uint64_t low = from > range->low ? from : range->low;
    uint64_t high = until - 1 < range->high ? until - 1 : range->high;
    return low <= high ? high - low + 1 : 0;
}

static size_t find(const uint64_t *numbers, size_t count, uint64_t number)
{
    size_t i = 0;
    while (i < count && numbers[i] != number)
        i++;
    return i;
}

/* Removes `number`; false when it is not there. */
static bool take(uint64_t *numbers, unsigned *count, uint64_t number)
{
    size_t at = find(numbers, *count, number);
    if (at == *count)
        return false;
    numbers[at] = numbers[--*count];
    return true;
}

void pl_reorder_density_begin(struct pl_reorder_density *density, uint64_t first_number)
{
    *density = (struct pl_reorder_density){
        .index_from = first_number, .occupancy_from = first_number, .expected = first_number};
}

/* Counts the ordered arrivals below `next`, of which the latest fill the window. */
static void leave_order(struct pl_reorder_density *density, uint64_t next,
                        const struct pl_number_range *range, struct pl_density_counts *counts)
{
    uint64_t ordered = next - density->index_from;
    density->window_count = ordered < WINDOW ? (unsigned)ordered : WINDOW;
    density->window_first = 0;
    density->consecutive = density->window_count;
    density->index = next - density->window_count;
    for (unsigned i = 0; i < density->window_count; i++)
        density->window[i] = density->index + i;
    counts->displacements[PL_DISPLACEMENT_MAX] += overlap(range, density->index_from, density->index);
    counts->occupancies[0] += overlap(range, density->occupancy_from, next);
    density->expected = next;
    density->disordered = true;
}

static uint64_t window_at(const struct pl_reorder_density *density, unsigned place)
{
    return density->window[(density->window_first + place) % WINDOW];
}

/* The lowest of `numbers` from the receive index on; `lowest` where that is lower. Nothing is below the index
 * itself, which is nearly always there. */
static uint64_t lowest_present(const struct pl_reorder_density *density, const uint64_t *numbers,
                               unsigned count, uint64_t lowest)
{
    for (unsigned i = 0; i < count && lowest != density->index; i++)
        if (numbers[i] >= density->index && numbers[i] < lowest)
            lowest = numbers[i];
    return lowest;
}

/* The lowest number from the receive index on that is in the window or was early. */
static uint64_t next_present(const struct pl_reorder_density *density)
{
    unsigned until_end = WINDOW - density->window_first;
    unsigned ahead = density->window_count < until_end ? density->window_count : until_end;
    const uint64_t *window = density->window;
    uint64_t lowest = lowest_present(density, density->early, density->early_count, UINT64_MAX);
    lowest = lowest_present(density, window + density->window_first, ahead, lowest);
    return lowest_present(density, window, density->window_count - ahead, lowest);
}

/* Assigns the next receive index, which skips lost numbers, to the first arrival in the window. */
static void assign(struct pl_reorder_density *density, const struct pl_number_range *range,
                   struct pl_density_counts *counts)
{
    density->index = next_present(density);
    uint64_t number = window_at(density, 0);
    density->window_first = (density->window_first + 1) % WINDOW;
    density->window_count--;
    int64_t displacement = (int64_t)(density->index - number);
    bool measured = within(range, number);
    if (displacement < -PL_DISPLACEMENT_MAX || displacement > PL_DISPLACEMENT_MAX) {
        counts->displaced_beyond += measured;
        return;
    }
    counts->displacements[PL_DISPLACEMENT_MAX + displacement] += measured;
    (void)take(density->early, &density->early_count, density->index);
    if (displacement < 0)
        density->early[density->early_count++] = number;
    density->index++;
}

static void add_displacement(struct pl_reorder_density *density, uint64_t number, bool measured,
                             const struct pl_number_range *range, struct pl_density_counts *counts)
{
    if (density->window_count == WINDOW)
        assign(density, range, counts);
    if (number < density->index) {
        counts->displaced_beyond += measured;
        density->consecutive = 0;
        return;
    }
    bool follows = density->window_count > 0 && window_at(density, density->window_count - 1) + 1 == number;
    density->consecutive = follows ? density->consecutive + 1 : 1;
    density->window[(density->window_first + density->window_count++) % WINDOW] = number;
}

static void release_held(struct pl_reorder_density *density)
{
    while (take(density->held, &density->held_count, density->expected))
        density->expected++;
}

static void add_occupancy(struct pl_reorder_density *density, uint64_t number, bool measured,
                          struct pl_density_counts *counts)
{
    if (number < density->expected) {
        counts->occupied_beyond += measured;
        return;
    }
    if (number > density->expected && density->held_count == PL_OCCUPANCY_MAX) {
        density->expected = number;
        for (unsigned i = 0; i < density->held_count; i++)
            density->expected = density->held[i] < density->expected ? density->held[i] : density->expected;
        release_held(density);
    }
    if (number == density->expected) {
        density->expected++;
        release_held(density);
    } else {
        density->held[density->held_count++] = number;
    }
    counts->occupancies[density->held_count] += measured;
}

void pl_reorder_density_add(struct pl_reorder_density *density, uint64_t number, uint64_t next, bool measured,
                            const struct pl_number_range *range, struct pl_density_counts *counts)
{
    if (!density->disordered)
        leave_order(density, next, range, counts);
    add_displacement(density, number, measured, range, counts);
    add_occupancy(density, number, measured, counts);
    if (density->consecutive >= WINDOW && density->early_count == 0 && density->held_count == 0 &&
        window_at(density, 0) == density->index && density->expected == number + 1) {
        density->disordered = false;
        density->index_from = density->index;
        density->occupancy_from = density->expected;
    }
}

void pl_reorder_density_finish(struct pl_reorder_density *density, uint64_t next,
                               const struct pl_number_range *range, struct pl_density_counts *counts)
{
    if (!density->disordered)
        leave_order(density, next, range, counts);
    while (density->window_count > 0)
        assign(density, range, counts);
}

void pl_density_counts_add(struct pl_density_counts *into, const struct pl_density_counts *from)
{
    for (unsigned i = 0; i < sizeof into->displacements / sizeof into->displacements[0]; i++)
        into->displacements[i] += from->displacements[i];
    for (unsigned i = 0; i < sizeof into->occupancies / sizeof into->occupancies[0]; i++)
        into->occupancies[i] += from->occupancies[i];
    into->displaced_beyond += from->displaced_beyond;
    into->occupied_beyond += from->occupied_beyond;
}

static void write_counts(struct pl_json *j, const char *key, const uint64_t *counts, int places, int lowest)
{
    pl_json_begin_array(j, key);
    for (int i = 0; i < places; i++) {
        if (counts[i] == 0)
            continue;
        pl_json_begin_array(j, NULL);
        pl_json_i64(j, NULL, lowest + i);
        pl_json_u64(j, NULL, counts[i]);
        pl_json_end_array(j);
    }
    pl_json_end_array(j);
}

void pl_density_counts_write(const struct pl_density_counts *counts, struct pl_json *j)
{
    write_counts(j, "reorder_density", counts->displacements, 2 * PL_DISPLACEMENT_MAX + 1,
                 -PL_DISPLACEMENT_MAX);
    pl_json_u64(j, "displaced_beyond", counts->displaced_beyond);
    write_counts(j, "buffer_density", counts->occupancies, PL_OCCUPANCY_MAX + 1, 0);
    pl_json_u64(j, "occupied_beyond", counts->occupied_beyond);
}
