/* When an echo that nobody uses ends by itself. Pure; times are pl_now_ns()'s. */
#ifndef PL_ECHO_IDLE_H
#define PL_ECHO_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* One started by hand has nobody who ends it when it is forgotten. */
#define PL_ECHO_IDLE_DEFAULT_NS (60 * PL_NS_PER_S)
#define PL_ECHO_IDLE_UNSET (-1)

struct pl_echo_idle {
    pl_ns timeout_ns; /* 0: never */
    pl_ns since_ns;   /* the last time at which a peer was there, or the start */
    uint64_t echoed;
    bool connected;
};

/* `timeout_ns`: the flag's value, 0 for never, PL_ECHO_IDLE_UNSET where it was not given: then the default,
 * but never where a controller ends the echo. */
void pl_echo_idle_start(struct pl_echo_idle *idle, pl_ns timeout_ns, bool controlled, pl_ns now_ns);
/* What the echo knows now: all probes echoed so far, and whether an admitted connection is open. */
void pl_echo_idle_note(struct pl_echo_idle *idle, uint64_t echoed, bool connected, pl_ns now_ns);
/* When it ends unless a peer comes; INT64_MAX while one is there or where it never ends. */
pl_ns pl_echo_idle_deadline_ns(const struct pl_echo_idle *idle);

#endif
