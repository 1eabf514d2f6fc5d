/* What of a connection's bytes has got through, as this end's kernel knows it; and its reset. */
#ifndef PL_DELIVERY_H
#define PL_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/transport.h"
#include "flow/stream.h"

/* A number that, while nothing more is written, grows whenever the peer has acknowledged or sent something on
 * this connection, data behind a hole included. Only what it grows by means anything, modulo 2^64. */
uint64_t pl_delivery_progress(const struct pl_stream *stream, enum pl_transport transport);

/* Bytes that this end's kernel took from the stream and the peer has not received: as the peer states, else
 * those that its kernel has not acknowledged; -1 where neither is known. */
int64_t pl_delivery_missing_bytes(const struct pl_stream *stream, enum pl_transport transport);

/* Ends the connection at once: what is unsent or unacknowledged is discarded, and the peer gets a reset.
 * Closes the descriptor. */
void pl_delivery_reset(struct pl_stream *stream);

#endif
