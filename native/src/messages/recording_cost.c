#include "messages/recording_cost.h"

#include <stdlib.h>

#include "base/clock.h"
#include "messages/latency_log.h"

#define RUNS 15
#define CALLS 1000

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double pl_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

struct pl_recording_cost pl_measure_recording(void)
{
    double clocks[RUNS];
    double records[RUNS];
    struct pl_latency_log *log = pl_latency_log_create(PL_NS_PER_S, 0);
    for (int run = 0; run < RUNS; run++) {
        pl_ns start_ns = pl_now_ns();
        pl_ns now_ns = start_ns;
        for (int i = 0; i < CALLS; i++)
            now_ns = pl_now_ns();
        clocks[run] = (double)(now_ns - start_ns) / CALLS;
        start_ns = pl_now_ns();
        for (int i = 0; log != NULL && i < CALLS; i++)
            pl_latency_log_add(log, i, 20000 + i * 7);
        records[run] = (double)(pl_now_ns() - start_ns) / CALLS;
    }
    free(log);
    return (struct pl_recording_cost){.clock_ns = pl_median(clocks, RUNS),
                                      .record_ns = pl_median(records, RUNS)};
}
