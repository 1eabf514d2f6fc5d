/* Arrivals from bytes: the first chooses where numbers begin and how many are sent, each pair after it one
 * arrival: a step of the number, forwards or backwards, whose size grows with its exponent. The sums agree
 * whatever arrives. */
#include <string.h>

#include "datagrams/sequence_meter.h"
#include "property.h"

static uint64_t sum(const struct pl_histogram *histogram)
{
    uint64_t total = 0;
    for (unsigned place = 0; place < PL_HISTOGRAM_PLACES; place++)
        total += histogram->counts[place];
    return total;
}

static void check_sums(const struct pl_reordering *reordering, struct pl_sequence_counts counts,
                       uint64_t sent)
{
    const struct pl_density_counts *densities = &reordering->densities;
    uint64_t displaced = densities->displaced_beyond;
    uint64_t occupied = densities->occupied_beyond;
    for (int i = 0; i < 2 * PL_DISPLACEMENT_MAX + 1; i++)
        displaced += densities->displacements[i];
    for (int i = 0; i < PL_OCCUPANCY_MAX + 1; i++)
        occupied += densities->occupancies[i];
    REQUIRE(counts.received + counts.lost == sent);
    REQUIRE(displaced == counts.received && occupied == counts.received);
    REQUIRE(sum(&reordering->reorder_extents) == counts.reordered);
    REQUIRE(sum(&reordering->late_times_ns) == counts.reordered);
    REQUIRE(sum(&reordering->n_reordering) == counts.reordered);
    REQUIRE(reordering->loss_runs.sum_overflows > 0 || reordering->loss_runs.sum_low_ns == counts.lost);
    REQUIRE(reordering->reorder_extents.max_ns < 2 * PL_SEQUENCE_WINDOW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct pl_reordering *reordering = calloc(1, sizeof *reordering);
    uint64_t first = data[0] % 2 == 0 ? 0 : UINT32_MAX - data[0];
    const struct pl_meter_settings settings = {reordering, first};
    struct pl_sequence_meter *meter = pl_sequence_meter_create(&settings, NULL);
    REQUIRE(reordering != NULL && meter != NULL);
    uint64_t number = first;
    uint64_t last = first;
    for (size_t at = 1; at + 1 < size; at += 2) {
        uint64_t step = (uint64_t)data[at + 1] << data[at] % 48;
        number = data[at] >= 128 ? number - step : number + step;
        pl_sequence_meter_add(meter, number, (pl_ns)(number % INT64_MAX), (pl_ns)at, true);
        if (number > last && number < PL_SEQUENCE_NUMBER_END)
            last = number;
        number++;
    }
    last += data[0] / 8;
    uint64_t jumps = pl_sequence_meter_totals(meter).received;
    struct pl_sequence_counts counts = pl_sequence_meter_close_window(meter, first, last);
    REQUIRE(jumps == counts.received);
    check_sums(reordering, counts, last - first + 1);
    pl_sequence_meter_free(meter);
    free(reordering);
    return 0;
}
