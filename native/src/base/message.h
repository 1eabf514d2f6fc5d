/* Short messages of the engine's own protocols over a non-blocking stream socket. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* Sends the whole message; 0, or an errno. Waits up to 200 ms for room, so that no half message stays where
 * the rest could still go. `wait_for_room`: also before the first byte; without it, EAGAIN means that nothing
 * was sent. */
int pl_message_send(int fd, const uint8_t *message, size_t bytes, bool wait_for_room);

/* Waits until a descriptor is ready for `events` (poll(2)). 0, ETIMEDOUT at the deadline, or another errno.
 */
int pl_wait_ready(int fd, short events, pl_ns deadline_ns);
