/* The connection of TCP probes: the handshake, and sending of whole messages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/probe_settings.h"

/* Connects a non-blocking socket and completes the handshake within the settings' time-out; false with
 * `error` set. */
bool pl_probe_stream_connect(int fd, const struct pl_probe_settings *settings, struct pl_error *error);

/* Sends one whole message; 0, or an errno. EAGAIN, with nothing sent, when the peer has not read for so long
 * that there is no room. */
int pl_probe_stream_send(int fd, const uint8_t *message, size_t bytes);
