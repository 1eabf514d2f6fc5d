/* Delivery of a connection's bytes as this end's kernel knows it, and the reset of the connection. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/transport.h"
#include "flow/stream.h"

/* A number that grows whenever the peer has acknowledged or sent something on this connection, out-of-order
 * data included, as long as nothing more is written. Only differences have a meaning, modulo 2^64. */
uint64_t pl_delivery_progress(const struct pl_stream *stream, enum pl_transport transport);

/* Bytes that this end's kernel took and the peer has not received: by the peer's confirmation, else
 * unacknowledged by the peer's kernel; -1 where neither is known. */
int64_t pl_delivery_missing_bytes(const struct pl_stream *stream, enum pl_transport transport);

/* Aborts the connection: discards unsent and unacknowledged bytes and sends a reset. Closes the descriptor.
 */
void pl_delivery_reset(struct pl_stream *stream);
