/* The connection of TCP probes: greeting and whole messages out. */
#ifndef PL_PROBE_STREAM_H
#define PL_PROBE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/probe_socket.h"

/* Connects a non-blocking socket within the settings' time and greets the echo; false with `error` set. */
bool pl_probe_stream_connect(int fd, const struct pl_probe_settings *settings, struct pl_error *error);

/* Sends one message whole; 0, or the errno. A peer that has not read for so long that it does not fit makes
 * this EAGAIN, and nothing is sent. */
int pl_probe_stream_send(int fd, const uint8_t *message, size_t bytes);

#endif
