/* The acceptor: accepts connections, reads their hellos and admits those of the flow.
 *
 * Unauthenticated peers cannot block it: every call is non-blocking, a hello must be complete within two
 * seconds, and at most 64 handshakes beyond the expected ones are pending; the oldest is closed first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "flow/flow.h"
#include "flow/stream.h"

#define PL_HANDSHAKE_SPARE 64
#define PL_HANDSHAKE_TIMEOUT_NS (2 * PL_NS_PER_S)

struct pl_acceptor;

/* The sockets that an end listens on: one, or one for each family of addresses, on the same port. */
struct pl_listeners {
    int fds[2];
    size_t count;
};

/* Borrows the listening socket, the flow and the streams. Completes the flow from the first hello and fills
 * the descriptors of the admitted streams. */
struct pl_acceptor *pl_acceptor_open(const struct pl_listeners *listeners, struct pl_flow *flow,
                                     struct pl_stream *streams, struct pl_error *error);
/* Closes the pending handshakes. */
void pl_acceptor_close(struct pl_acceptor *acceptor);

/* Readable when there is work for pl_acceptor_serve(). */
int pl_acceptor_fd(const struct pl_acceptor *acceptor);
/* Serves without waiting, a bounded amount per call. False with `error` set when descriptors ran out and no
 * pending handshake is left to close. */
bool pl_acceptor_serve(struct pl_acceptor *acceptor, struct pl_error *error);

struct pl_acceptor_state {
    uint32_t admitted;
    bool complete;     /* every stream of the flow has been admitted */
    pl_ns latest_ns;   /* when the latest stream was admitted; 0: none yet */
    uint32_t pending;  /* handshakes */
    pl_ns deadline_ns; /* of the oldest pending handshake; PL_NEVER without one */
    uint64_t rejected; /* unauthenticated peers so far */
};

struct pl_acceptor_state pl_acceptor_state(const struct pl_acceptor *acceptor);
