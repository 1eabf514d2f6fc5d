/* The limit of unsent bytes: its choice from acknowledged bytes, and its effect on sockets. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "streams/backlog.h"

#define MIB (INT64_C(1) << 20)

static void check_choices(void)
{
    /* At the end of a span: the bytes acknowledged in a quarter of a second. */
    CHECK_EQUAL(pl_backlog_choose(PL_BACKLOG_MIN_BYTES, MIB, PL_BACKLOG_SPAN_NS), MIB);
    CHECK_EQUAL(pl_backlog_choose(PL_BACKLOG_MIN_BYTES, 4 * MIB, 4 * PL_BACKLOG_SPAN_NS), MIB);
    CHECK_EQUAL(pl_backlog_choose(4 * MIB, MIB, PL_BACKLOG_SPAN_NS), MIB);
    /* A change below half or double is ignored. */
    CHECK_EQUAL(pl_backlog_choose(MIB, MIB + MIB / 2, PL_BACKLOG_SPAN_NS), MIB);
    CHECK_EQUAL(pl_backlog_choose(MIB, MIB - MIB / 4, PL_BACKLOG_SPAN_NS), MIB);
    /* Within a span it only grows. */
    CHECK_EQUAL(pl_backlog_choose(MIB, 2 * MIB, PL_NS_PER_MS), 2 * MIB);
    CHECK_EQUAL(pl_backlog_choose(MIB, 0, PL_BACKLOG_SPAN_NS - 1), MIB);
    /* Its bounds. */
    CHECK_EQUAL(pl_backlog_choose(MIB, 0, PL_BACKLOG_SPAN_NS), PL_BACKLOG_MIN_BYTES);
    CHECK_EQUAL(pl_backlog_choose(MIB, UINT64_MAX, PL_BACKLOG_SPAN_NS), PL_BACKLOG_MAX_BYTES);
    CHECK_EQUAL(pl_backlog_choose(PL_BACKLOG_MAX_BYTES, UINT64_MAX, 1), PL_BACKLOG_MAX_BYTES);
}

static int64_t read_limit(int fd)
{
    int value = 0;
    socklen_t length = sizeof value;
    CHECK_EQUAL(getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value, &length), 0);
    return value;
}

static void check_socket(void)
{
    struct pl_backlog backlog;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(pl_backlog_open(&backlog, fd));
    CHECK_EQUAL(read_limit(fd), PL_BACKLOG_MIN_BYTES);
    /* Nothing was taken yet, and no span is over. */
    CHECK_EQUAL(pl_backlog_follow(&backlog, fd, 0, 1), 0);
    CHECK_EQUAL(read_limit(fd), PL_BACKLOG_MIN_BYTES);
    /* An idle socket holds nothing, so all bytes taken count as acknowledged: the limit grows within the
     * span. */
    CHECK(pl_backlog_follow(&backlog, fd, 8 * MIB, 2) > 0);
    CHECK_EQUAL(read_limit(fd), 8 * MIB);
    /* The span ends, and nothing is acknowledged in the next one. */
    (void)pl_backlog_follow(&backlog, fd, 8 * MIB, 1 + PL_BACKLOG_SPAN_NS);
    (void)pl_backlog_follow(&backlog, fd, 8 * MIB, 1 + 2 * PL_BACKLOG_SPAN_NS);
    CHECK_EQUAL(read_limit(fd), PL_BACKLOG_MIN_BYTES);
    (void)close(fd);
}

static void check_socket_without(void)
{
    struct pl_backlog backlog;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(!pl_backlog_open(&backlog, fd));
    CHECK_EQUAL(backlog.limit_bytes, 0);
    CHECK_EQUAL(pl_backlog_follow(&backlog, fd, 8 * MIB, 1), 0);
    (void)close(fd);
}

int main(void)
{
    check_choices();
    check_socket();
    check_socket_without();
    CHECK_RETURN();
}
