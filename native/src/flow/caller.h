/* The sender's side of the greeting: connects every stream, says hello and hears the answers. */
#ifndef PL_CALLER_H
#define PL_CALLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "flow/flow.h"
#include "flow/stream.h"

struct pl_caller;

/* Borrows the flow and the streams, whose descriptors it fills. NULL with `error` set: a bad address, no
 * memory, or no descriptors. */
struct pl_caller *pl_caller_open(const struct pl_flow *flow, struct pl_stream *streams,
                                 struct pl_error *error);
void pl_caller_close(struct pl_caller *caller);

/* Readable when there is something to serve. */
int pl_caller_fd(const struct pl_caller *caller);
/* Does what can be done without waiting; call it once after opening. False with `error` set when a connection
 * is refused, ends, or is answered by something else than this protocol. */
bool pl_caller_serve(struct pl_caller *caller, struct pl_error *error);
/* Streams admitted so far. */
uint32_t pl_caller_admitted(const struct pl_caller *caller);

#endif
