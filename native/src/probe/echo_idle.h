/* The idle time-out of an echo. Pure; times are pl_now_ns()'s. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* An echo started by hand has no controller that ends it. */
#define PL_ECHO_IDLE_DEFAULT_NS (60 * PL_NS_PER_S)
#define PL_ECHO_IDLE_UNSET (-1)

struct pl_echo_idle {
    pl_ns timeout_ns; /* 0: never */
    pl_ns since_ns;   /* the last time with an admitted peer, or the start */
    uint64_t echoed;
    bool connected;
};

/* `timeout_ns`: the flag's value, 0 for never, or PL_ECHO_IDLE_UNSET without the flag: the default, but never
 * where a controller ends the echo. */
void pl_echo_idle_start(struct pl_echo_idle *idle, pl_ns timeout_ns, bool controlled, pl_ns now_ns);
/* Updates the state: all probes echoed so far, and whether an admitted connection is open. */
void pl_echo_idle_note(struct pl_echo_idle *idle, uint64_t echoed, bool connected, pl_ns now_ns);
/* When the echo ends without a further peer; INT64_MAX while one is connected or without a time-out. */
pl_ns pl_echo_idle_deadline_ns(const struct pl_echo_idle *idle);
