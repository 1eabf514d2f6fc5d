#include "streams/backlog.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "base/descriptor.h"

static bool set_limit(int fd, int64_t limit_bytes)
{
    return pl_set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, (int)limit_bytes);
}

bool pl_backlog_open(struct pl_backlog *backlog, int fd)
{
    bool set = set_limit(fd, PL_BACKLOG_MIN_BYTES);
    *backlog = (struct pl_backlog){.limit_bytes = set ? PL_BACKLOG_MIN_BYTES : 0};
    return set;
}

static int64_t bound(double bytes)
{
    if (bytes >= (double)PL_BACKLOG_MAX_BYTES)
        return PL_BACKLOG_MAX_BYTES;
    return bytes > PL_BACKLOG_MIN_BYTES ? (int64_t)bytes : PL_BACKLOG_MIN_BYTES;
}

int64_t pl_backlog_choose(int64_t limit_bytes, uint64_t acked_bytes, pl_ns span_ns)
{
    bool over = span_ns >= PL_BACKLOG_SPAN_NS;
    double scale = over ? (double)PL_BACKLOG_SPAN_NS / (double)span_ns : 1.0;
    int64_t wanted = bound((double)acked_bytes * scale);
    if (wanted / 2 >= limit_bytes || (over && wanted <= limit_bytes / 2))
        return wanted;
    return limit_bytes;
}

unsigned pl_backlog_follow(struct pl_backlog *backlog, int fd, uint64_t sent_bytes, pl_ns now_ns)
{
    int queued = 0;
    if (backlog->limit_bytes == 0)
        return 0;
    if (backlog->marked_ns == 0)
        backlog->marked_ns = now_ns;
    bool over = now_ns - backlog->marked_ns >= PL_BACKLOG_SPAN_NS;
    /* At most what the kernel has taken can be acknowledged. */
    bool grows = sent_bytes - backlog->marked_bytes >= 2 * (uint64_t)backlog->limit_bytes;
    if ((!over && !grows) || ioctl(fd, SIOCOUTQ, &queued) != 0 || queued < 0)
        return 0;
    uint64_t acked = sent_bytes > (uint64_t)queued ? sent_bytes - (uint64_t)queued : 0;
    uint64_t step = acked > backlog->marked_bytes ? acked - backlog->marked_bytes : 0;
    int64_t chosen = pl_backlog_choose(backlog->limit_bytes, step, now_ns - backlog->marked_ns);
    if (over) {
        backlog->marked_bytes = acked;
        backlog->marked_ns = now_ns;
    }
    if (chosen == backlog->limit_bytes)
        return 1;
    backlog->limit_bytes = set_limit(fd, chosen) ? chosen : 0;
    return 2;
}
