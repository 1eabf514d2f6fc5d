#include "probe/echo_idle.h"

void pl_echo_idle_start(struct pl_echo_idle *idle, pl_ns timeout_ns, bool controlled, pl_ns now_ns)
{
    if (timeout_ns == PL_ECHO_IDLE_UNSET)
        timeout_ns = controlled ? 0 : PL_ECHO_IDLE_DEFAULT_NS;
    *idle = (struct pl_echo_idle){.timeout_ns = timeout_ns, .since_ns = now_ns};
}

void pl_echo_idle_note(struct pl_echo_idle *idle, uint64_t echoed, bool connected, pl_ns now_ns)
{
    /* A connection that has just ended was open until now. */
    if (echoed != idle->echoed || connected || idle->connected)
        idle->since_ns = now_ns;
    idle->echoed = echoed;
    idle->connected = connected;
}

pl_ns pl_echo_idle_deadline_ns(const struct pl_echo_idle *idle)
{
    return idle->timeout_ns == 0 || idle->connected ? INT64_MAX : idle->since_ns + idle->timeout_ns;
}
