/* The kernel's statistics of a thread's waits for a core. */
#include <unistd.h>

#include "check.h"
#include "flow/run_queue.h"

static void check_words(void)
{
    CHECK_EQUAL(pl_run_queue_parse("1038445251 189312 30\n"), 189312);
    CHECK_EQUAL(pl_run_queue_parse("0 0 1\n"), 0);
    CHECK_EQUAL(pl_run_queue_parse("9 9223372036854775807 1"), INT64_MAX);
    CHECK_EQUAL(pl_run_queue_parse("0 0 0\n"), -1); /* a kernel without statistics */
    CHECK_EQUAL(pl_run_queue_parse(""), -1);
    CHECK_EQUAL(pl_run_queue_parse("12 34\n"), -1);
    CHECK_EQUAL(pl_run_queue_parse("12 -34 5\n"), -1);
    CHECK_EQUAL(pl_run_queue_parse("12 34x 5\n"), -1);
    CHECK_EQUAL(pl_run_queue_parse("12 9223372036854775808 5\n"), -1);
}

static void check_own_account(void)
{
    CHECK_EQUAL(pl_run_queue_waiting_ns(-1), -1);
    int fd = pl_run_queue_open();
    if (fd < 0) /* no /proc, or no statistics in it */
        return;
    int64_t before = pl_run_queue_waiting_ns(fd);
    CHECK(before >= 0);
    CHECK(pl_run_queue_waiting_ns(fd) >= before);
    CHECK_EQUAL(close(fd), 0);
    CHECK_EQUAL(pl_run_queue_waiting_ns(fd), -1);
}

int main(void)
{
    check_words();
    check_own_account();
    CHECK_RETURN();
}
