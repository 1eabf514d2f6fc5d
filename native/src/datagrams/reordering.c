#include "datagrams/reordering.h"

void pl_reordering_add(struct pl_reordering *into, const struct pl_reordering *from)
{
    pl_histogram_merge(&into->loss_runs, &from->loss_runs);
    pl_histogram_merge(&into->reorder_extents, &from->reorder_extents);
    pl_histogram_merge(&into->late_times_ns, &from->late_times_ns);
    pl_histogram_merge(&into->n_reordering, &from->n_reordering);
    pl_density_counts_add(&into->densities, &from->densities);
}

void pl_reordering_write(const struct pl_reordering *reordering, struct pl_json *j, const char *key)
{
    pl_json_begin_object(j, key);
    pl_histogram_write_places(&reordering->loss_runs, j, "loss_runs");
    pl_histogram_write_places(&reordering->reorder_extents, j, "reorder_extents");
    pl_histogram_write_places(&reordering->late_times_ns, j, "late_times_ns");
    pl_histogram_write_places(&reordering->n_reordering, j, "n_reordering");
    pl_density_counts_write(&reordering->densities, j);
    pl_json_end_object(j);
}
