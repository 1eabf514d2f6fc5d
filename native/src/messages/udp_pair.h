/* The two UDP sockets that belong to an admitted stream. Each is connected to the other one, at the addresses
 * of the stream: it receives from nobody else, and nobody else can be made its target. The accepting end uses
 * the port on which it listens, which firewalls let pass, or a free one where another program has it, and
 * states it once it is connected itself: only then may data come. So the accepting end connects and then
 * states its port; the other end states its port and then connects. */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "base/error.h"

struct pl_udp_settings {
    bool accepting;    /* this end makes what both ends share, or connects first */
    pl_ns deadline_ns; /* by which the peer has made or stated its part */
    /* Sets the options of the socket before it is bound; false with `error` set. */
    bool (*set_socket)(int fd, int family, const void *context, struct pl_error *error);
    const void *context;
};

/* Sets the error of a call that failed with `cause` (0: the peer does not keep to the protocol) while both
 * ends of a stream share what carries its messages. Always false. */
bool pl_fail_sharing(int cause, struct pl_error *error);
/* A bound socket, which the caller owns; -1 with `error` set. */
int pl_udp_open(int stream_fd, const struct pl_udp_settings *settings, struct pl_error *error);
/* States the socket's port over the stream. False with `error` set. */
bool pl_udp_state_port(int stream_fd, int udp_fd, struct pl_error *error);
/* Connects to the port that the peer states, and drops what others sent to the socket before. False with
 * `error` set. */
bool pl_udp_connect(int stream_fd, int udp_fd, const struct pl_udp_settings *settings,
                    struct pl_error *error);
