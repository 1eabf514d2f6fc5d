/* The idle time-out of an echo: a minute without a peer by hand, none under a controller. */
#include "check.h"
#include "probe/echo_idle.h"

static void check_defaults(void)
{
    struct pl_echo_idle idle;
    pl_echo_idle_start(&idle, PL_ECHO_IDLE_UNSET, false, 1000);
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), 1000 + 60 * PL_NS_PER_S);
    pl_echo_idle_start(&idle, PL_ECHO_IDLE_UNSET, true, 1000);
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), INT64_MAX);
    pl_echo_idle_start(&idle, 0, false, 1000);
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), INT64_MAX);
    pl_echo_idle_start(&idle, 5, true, 1000);
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), 1005);
}

static void check_peers(void)
{
    struct pl_echo_idle idle;
    pl_echo_idle_start(&idle, 10, false, 0);
    pl_echo_idle_note(&idle, 0, false, 5); /* refused datagrams and connections */
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), 10);
    pl_echo_idle_note(&idle, 1, false, 6);
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), 16);
    pl_echo_idle_note(&idle, 1, false, 9);
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), 16);
    pl_echo_idle_note(&idle, 1, true, 15);
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), INT64_MAX);
    pl_echo_idle_note(&idle, 1, false, 500); /* it sent nothing and has closed */
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), 510);
    pl_echo_idle_note(&idle, 1, false, 505);
    CHECK_EQUAL(pl_echo_idle_deadline_ns(&idle), 510);
}

int main(void)
{
    check_defaults();
    check_peers();
    CHECK_RETURN();
}
