/* Pacing of datagrams by the kernel. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "flow/flow.h"

/* Sets up what the flow asks for on the connected socket of a stream: SO_MAX_PACING_RATE or SO_TXTIME.
 * Without either nothing happens. False with `error` set where the device's queueing discipline does not
 * pace. */
bool pl_datagram_pace(int fd, const struct pl_flow *flow, struct pl_error *error);

/* What is to be added to a time of pl_now_ns() for the clock of the socket's SO_TXTIME. */
pl_ns pl_datagram_txtime_offset_ns(int fd);
