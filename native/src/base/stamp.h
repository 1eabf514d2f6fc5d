/* The kernel's receive timestamps. */
#pragma once

#include <sys/socket.h>

#include "base/clock.h"

/* The timestamp (CLOCK_REALTIME) in the ancillary data of a message from a socket with SO_TIMESTAMPNS; 0
 * without one. */
pl_ns pl_stamp_read(struct msghdr *message);
