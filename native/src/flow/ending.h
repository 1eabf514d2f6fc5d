/* The end of a trial. */
#ifndef PL_ENDING_H
#define PL_ENDING_H

#include <stdbool.h>
#include <stdint.h>

/* How a trial ended. `reason` is NULL when it is complete; `rejected` is -1 at an end that accepts no
 * connections. */
struct pl_ending {
    const char *reason;
    int64_t rejected;
    bool resets; /* streams that are still open are reset */
};

#endif
