/* The receiver's door: accepts connections, reads their hellos and admits those of the flow.
 *
 * Nobody outside can hold it up: nothing blocks, a hello must be whole within two seconds, and no more than
 * 64 connections beyond the expected ones are half-greeted at a time, the oldest going first. */
#ifndef PL_ACCEPTOR_H
#define PL_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "flow/flow.h"
#include "flow/stream.h"

#define PL_HANDSHAKE_SPARE 64
#define PL_HANDSHAKE_TIMEOUT_NS (2 * PL_NS_PER_S)

struct pl_acceptor;

/* Borrows the listening socket, the flow, which takes from the first hello what it was not told, and the
 * streams, whose descriptors it fills as they are admitted. */
struct pl_acceptor *pl_acceptor_open(int listen_fd, struct pl_flow *flow, struct pl_stream *streams,
                                     struct pl_error *error);
/* Closes whoever is half-greeted. */
void pl_acceptor_close(struct pl_acceptor *acceptor);

/* Readable when there is something to serve. */
int pl_acceptor_fd(const struct pl_acceptor *acceptor);
/* When the next half-greeted connection runs out of time; PL_NEVER without one. */
pl_ns pl_acceptor_deadline_ns(const struct pl_acceptor *acceptor);
/* Does what can be done without waiting, a bounded amount per call. False with `error` set when the machine
 * is out of descriptors although nobody is left to be dropped. */
bool pl_acceptor_serve(struct pl_acceptor *acceptor, struct pl_error *error);

uint32_t pl_acceptor_admitted(const struct pl_acceptor *acceptor);
/* Whether every stream of the flow has been admitted. */
bool pl_acceptor_is_complete(const struct pl_acceptor *acceptor);
/* Those who stand there with half a hello. */
uint32_t pl_acceptor_pending(const struct pl_acceptor *acceptor);
/* Strangers turned away so far. */
uint64_t pl_acceptor_rejected(const struct pl_acceptor *acceptor);

#endif
