/* The connector: connects every stream, sends the hellos and checks the answers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "flow/flow.h"
#include "flow/stream.h"

struct pl_connector;

/* Borrows the flow and the streams, whose descriptors it fills. NULL with `error` set: a bad address, no
 * memory, or no descriptors. */
struct pl_connector *pl_connector_open(struct pl_flow *flow, struct pl_stream *streams,
                                       struct pl_error *error);
void pl_connector_close(struct pl_connector *connector);

/* Readable when there is work for pl_connector_serve(). */
int pl_connector_fd(const struct pl_connector *connector);
/* Serves without waiting; call it once after opening. False with `error` set when a connection is refused,
 * ends, or is answered by another protocol. */
bool pl_connector_serve(struct pl_connector *connector, struct pl_error *error);
/* Streams admitted so far. */
uint32_t pl_connector_admitted(const struct pl_connector *connector);
