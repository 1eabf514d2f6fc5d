#include "messages/latency_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/relaxed.h"

struct pl_latency_log *pl_latency_log_create(pl_ns interval_ns, pl_ns warmup_ns)
{
    struct pl_latency_log *log = calloc(1, sizeof *log);
    if (log == NULL)
        return NULL;
    log->interval_ns = interval_ns;
    log->warmup_ns = warmup_ns;
    log->end_ns = warmup_ns > 0 && warmup_ns < interval_ns ? warmup_ns : interval_ns;
    return log;
}

/* The interval in which `at_ns` lies; the last one of the warm-up ends with it. */
static void find_interval(const struct pl_latency_log *log, pl_ns at_ns, pl_ns *start_ns, pl_ns *end_ns)
{
    pl_ns base_ns = at_ns < log->warmup_ns ? 0 : log->warmup_ns;
    *start_ns = base_ns + (at_ns - base_ns) / log->interval_ns * log->interval_ns;
    *end_ns = *start_ns + log->interval_ns;
    if (at_ns<log->warmup_ns && * end_ns> log->warmup_ns)
        *end_ns = log->warmup_ns;
}

static struct pl_latency_slot *open_slot(struct pl_latency_log *log, uint32_t filled)
{
    return &log->slots[filled % PL_LATENCY_SLOTS];
}

/* Whether the reader has left a slot free. The last free one is kept for the end of the warm-up, since what
 * follows must not be mixed with it, and the recorder must not wait. */
static bool has_room(const struct pl_latency_log *log, uint32_t filled, bool ends_warmup)
{
    uint32_t waiting = filled + 1 - atomic_load_explicit(&log->emptied, memory_order_acquire);
    return waiting < (ends_warmup ? PL_LATENCY_SLOTS : PL_LATENCY_SLOTS - 1);
}

void pl_latency_log_advance(struct pl_latency_log *log, pl_ns at_ns)
{
    uint32_t filled = pl_load_relaxed(&log->filled);
    struct pl_latency_slot *open = open_slot(log, filled);
    bool ends_warmup = open->start_ns < log->warmup_ns && at_ns >= log->warmup_ns;
    pl_ns start_ns;
    open->end_ns = log->end_ns;
    find_interval(log, at_ns, &start_ns, &log->end_ns);
    if (!has_room(log, filled, ends_warmup))
        return;
    struct pl_latency_slot *next = open_slot(log, filled + 1);
    memset(&next->durations, 0, sizeof next->durations);
    next->start_ns = start_ns;
    atomic_store_explicit(&log->filled, filled + 1, memory_order_release);
}

void pl_latency_log_finish(struct pl_latency_log *log)
{
    uint32_t filled = pl_load_relaxed(&log->filled);
    open_slot(log, filled)->end_ns = log->end_ns;
    atomic_store_explicit(&log->filled, filled + 1, memory_order_release);
}

const struct pl_latency_slot *pl_latency_log_next(struct pl_latency_log *log)
{
    uint32_t emptied = pl_load_relaxed(&log->emptied);
    if (emptied == atomic_load_explicit(&log->filled, memory_order_acquire))
        return NULL;
    return open_slot(log, emptied);
}

void pl_latency_log_release(struct pl_latency_log *log)
{
    (void)atomic_fetch_add_explicit(&log->emptied, 1, memory_order_release);
}
