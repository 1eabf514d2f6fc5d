/* One meter as a program, for tests/native/test_sequence_meter.py. The first line of stdin is the first
 * number; each other line is an arrival: number, time sent and time arrived (ns), and 1 when it was sent in
 * the measured window, else 0; the last one is "end FIRST LAST" of the window. Prints one JSON object. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "datagrams/sequence_meter.h"

static void write_counts(struct pl_json *j, const char *key, struct pl_sequence_counts counts)
{
    pl_json_begin_object(j, key);
    pl_json_u64(j, "received", counts.received);
    pl_json_u64(j, "lost", counts.lost);
    pl_json_u64(j, "duplicates", counts.duplicates);
    pl_json_u64(j, "reordered", counts.reordered);
    pl_json_u64(j, "unclassified", counts.unclassified);
    pl_json_known_i64(j, "jitter_ns", counts.jitter_ns);
    pl_json_end_object(j);
}

int main(void)
{
    struct pl_json j = {0};
    struct pl_reordering *reordering = calloc(1, sizeof *reordering);
    struct pl_meter_settings settings = {.reordering = reordering};
    uint64_t first = 0;
    uint64_t last = 0;
    if (reordering == NULL || scanf("%" SCNu64, &settings.first_sequence) != 1)
        return EXIT_FAILURE;
    struct pl_sequence_meter *meter = pl_sequence_meter_create(&settings, NULL);
    if (meter == NULL)
        return EXIT_FAILURE;
    uint64_t number = 0;
    pl_ns sent_ns = 0;
    pl_ns arrived_ns = 0;
    int measured = 0;
    while (scanf("%" SCNu64 "%" SCNd64 "%" SCNd64 "%d", &number, &sent_ns, &arrived_ns, &measured) == 4)
        pl_sequence_meter_add(meter, number, sent_ns, arrived_ns, measured == 1);
    if (scanf(" end %" SCNu64 "%" SCNu64, &first, &last) != 2)
        return EXIT_FAILURE;
    pl_json_begin_object(&j, NULL);
    write_counts(&j, "totals", pl_sequence_meter_totals(meter));
    write_counts(&j, "window", pl_sequence_meter_close_window(meter, first, last));
    pl_reordering_write(reordering, &j, "histograms");
    pl_json_end_object(&j);
    bool written = pl_json_flush_line(&j);
    pl_json_release(&j);
    pl_sequence_meter_free(meter);
    free(reordering);
    return written ? EXIT_SUCCESS : EXIT_FAILURE;
}
