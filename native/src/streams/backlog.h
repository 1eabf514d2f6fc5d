/* The limit of bytes that a TCP socket holds unsent (TCP_NOTSENT_LOWAT).
 *
 * Unsent bytes must drain after a trial stops: at a few Mbit/s a socket buffer of some MiB takes longer than
 * the trial. So the limit follows the stream: the bytes acknowledged in the latest quarter of a second, which
 * is also how late the writer may be before the socket runs dry. It limits unsent bytes alone, not bytes in
 * flight, so it bounds no window. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define PL_BACKLOG_MIN_BYTES 16384
#define PL_BACKLOG_MAX_BYTES (INT64_C(1) << 30)
#define PL_BACKLOG_SPAN_NS (250 * PL_NS_PER_MS)

/* One stream's limit. `limit_bytes` 0: the socket has none. */
struct pl_backlog {
    int64_t limit_bytes;
    uint64_t marked_bytes; /* acknowledged when the span began */
    pl_ns marked_ns;       /* 0: no span has begun */
};

/* Sets the smallest limit; false where the kernel does not support it on this socket. */
bool pl_backlog_open(struct pl_backlog *backlog, int fd);
/* Adapts the limit when it is due; `sent_bytes`: taken by the kernel so far. Returns the number of system
 * calls made. */
unsigned pl_backlog_follow(struct pl_backlog *backlog, int fd, uint64_t sent_bytes, pl_ns now_ns);

/* The limit for `acked_bytes` acknowledged in `span_ns` under the present limit. At the end of a span: the
 * bytes acknowledged in a quarter of a second. Within a span it only grows. It changes only by half or
 * double. */
int64_t pl_backlog_choose(int64_t limit_bytes, uint64_t acked_bytes, pl_ns span_ns);
