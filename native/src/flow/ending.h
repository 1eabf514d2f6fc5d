/* The end of a trial. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How a trial ended. `reason` is NULL when it is complete; `rejected` is -1 at an end that accepts no
 * connections. */
struct pl_ending {
    const char *reason;
    int64_t rejected;
    bool resets; /* streams that are still open are reset */
};
