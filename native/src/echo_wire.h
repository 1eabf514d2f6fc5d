/* Inside of a probe to the peer engine's echo, and the greeting of a TCP one (PROTOCOL.md). */
#ifndef PL_ECHO_WIRE_H
#define PL_ECHO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "wire.h"

/* A probe: its cookie, its sequence, and how long the echo held it. A datagram has the token before them. */
#define PL_PROBE_COOKIE_AT 0
#define PL_PROBE_SEQUENCE_AT 8
#define PL_PROBE_HELD_AT 16
#define PL_PROBE_HEAD_BYTES 16 /* without the time held */
#define PL_PROBE_HELD_BYTES 24 /* with it */

/* What a TCP connection begins with: the token, and the size of every message after it. */
#define PL_ECHO_GREETING_BYTES 20
#define PL_ECHO_MESSAGE_MAX 65000

void pl_echo_greeting_encode(const uint8_t token[PL_TOKEN_BYTES], uint32_t message_bytes,
                             uint8_t bytes[PL_ECHO_GREETING_BYTES]);
/* False when the token is another's or the size is none that an echo takes; compares in constant time. */
bool pl_echo_greeting_admit(const uint8_t bytes[PL_ECHO_GREETING_BYTES], const uint8_t token[PL_TOKEN_BYTES],
                            uint32_t *message_bytes);

/* Writes the time from the kernel's receive stamp (CLOCK_REALTIME; 0: none, `received_ns` by CLOCK_MONOTONIC
 * stands in) until now into a probe of `bytes` bytes, token aside; too small ones are left as they came. */
void pl_echo_write_held(uint8_t *probe, size_t bytes, pl_ns stamp_realtime_ns, pl_ns received_ns);

#endif
