/* Work that gives way to others: a background load, and the traffic of one. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define PL_NICE_MAX 19

/* Gives the calling thread, and those that it starts from here on, the ordinary scheduling class and this
 * niceness; a higher one that they have already is kept. 0 changes nothing. False with `error` set when the
 * kernel refuses.
 *
 * Where the kernel schedules by session (autogroup), the niceness of a process counts within its session
 * only. The leader of a session therefore sets that of the session as well. */
bool pl_lower_priority(int64_t nice, struct pl_error *error);

/* Gives the calling thread the idle class of I/O: the disk serves it when nobody else asks. Schedulers
 * without classes ignore it. False where the kernel has no such call. */
bool pl_lower_io_priority(void);
