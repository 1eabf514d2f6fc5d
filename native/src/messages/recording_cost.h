/* What the measurement of a round trip costs itself, measured before the trial. */
#pragma once

#include <stddef.h>

struct pl_recording_cost {
    double clock_ns;  /* of one reading of the clock; a round trip takes two */
    double record_ns; /* of counting one round trip */
};

/* The median of an odd number of values, which it sorts. */
double pl_median(double *values, size_t count);

/* Medians of short runs; takes about a millisecond. */
struct pl_recording_cost pl_measure_recording(void);
