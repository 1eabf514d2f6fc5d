/* How long a thread was ready to run and had no core: the kernel's own account of its run queues. */
#ifndef PL_RUN_QUEUE_H
#define PL_RUN_QUEUE_H

#include <stdint.h>

/* Opens the account of the calling thread, /proc/thread-self/schedstat. Any thread may read it, the caller
 * closes it; -1 where there is none (no /proc, or a kernel built without CONFIG_SCHED_INFO). */
int pl_run_queue_open(void);

/* Nanoseconds that the thread has waited for a core since it started; -1 where that is not known, as by a
 * descriptor of -1. */
int64_t pl_run_queue_waiting_ns(int fd);

/* The same from the file's text: ns on a core, ns waiting, times that it got one (sched-stats.rst). A thread
 * that never got a core has no account: -1. */
int64_t pl_run_queue_parse(const char *text);

#endif
