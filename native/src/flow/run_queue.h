/* The time that a thread was runnable without a core, from the kernel's run-queue statistics. */
#pragma once

#include <stdint.h>

/* Opens the statistics of the calling thread, /proc/thread-self/schedstat. Any thread may read the
 * descriptor, the caller closes it; -1 where there are none (no /proc, or a kernel without
 * CONFIG_SCHED_INFO). */
int pl_run_queue_open(void);

/* Nanoseconds that the thread has waited for a core since its start; -1 where that is unknown, also for the
 * descriptor -1. */
int64_t pl_run_queue_waiting_ns(int fd);

/* Parses the file's text: ns on a core, ns waiting, times that it got a core (sched-stats.rst). -1 for a
 * thread that never got a core, which has no statistics. */
int64_t pl_run_queue_parse(const char *text);
