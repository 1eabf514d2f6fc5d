/* How many bytes a TCP socket may hold that its kernel has not sent yet (TCP_NOTSENT_LOWAT).
 *
 * What is unsent when a trial stops takes its time to drain: at a few Mbit/s a socket buffer of some MiB
 * takes longer than the trial. So a socket holds no more than it needs. The limit is of unsent bytes alone,
 * not of those in flight: it bounds no window. It follows the stream: as many bytes as were acknowledged in
 * the latest quarter of a second, which is also how long the writer may be late before the socket runs dry.
 */
#ifndef PL_BACKLOG_H
#define PL_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define PL_BACKLOG_MIN_BYTES 16384
#define PL_BACKLOG_MAX_BYTES (INT64_C(1) << 30)
#define PL_BACKLOG_SPAN_NS (250 * PL_NS_PER_MS)

/* Of one stream. `limit_bytes` 0: the socket has no such limit. */
struct pl_backlog {
    int64_t limit_bytes;
    uint64_t marked_bytes; /* acknowledged when the span began */
    pl_ns marked_ns;       /* 0: no span has begun */
};

/* Sets the smallest limit; false where the kernel has none for such a socket. */
bool pl_backlog_open(struct pl_backlog *backlog, int fd);
/* Adapts the limit when it is due; `sent_bytes` is what the kernel has taken so far. Returns how many system
 * calls that took. */
unsigned pl_backlog_follow(struct pl_backlog *backlog, int fd, uint64_t sent_bytes, pl_ns now_ns);

/* The limit that follows from `acked_bytes` acknowledged in `span_ns` under the limit at work: at the end of
 * a span what was acknowledged in a quarter of a second, within the span only more, never less. A change of
 * less than the half or the double is none. */
int64_t pl_backlog_choose(int64_t limit_bytes, uint64_t acked_bytes, pl_ns span_ns);

#endif
