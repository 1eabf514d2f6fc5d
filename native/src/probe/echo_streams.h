/* The TCP side of `echo`: a bounded number of connections, each of which completes the handshake and then has
 * probes of one size answered. Nothing blocks, and an unauthenticated peer can make it hold at most one
 * message. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/token.h"

#define PL_ECHO_STREAMS 64

/* `other_version`: the part of `refused` that uses another version of the probes. */
struct pl_echo_counts {
    uint64_t echoed, refused, other_version;
};

struct pl_echo_streams;

/* Takes over the listening socket. NULL with `error` set; the socket is then closed. */
struct pl_echo_streams *pl_echo_streams_open(int listen_fd, const uint8_t token[PL_TOKEN_BYTES],
                                             struct pl_error *error);
void pl_echo_streams_close(struct pl_echo_streams *streams);

/* Readable when there is work for pl_echo_streams_serve(). */
int pl_echo_streams_fd(const struct pl_echo_streams *streams);
/* The earliest deadline of a pending handshake; INT64_MAX without one. */
pl_ns pl_echo_streams_deadline_ns(const struct pl_echo_streams *streams);
/* Serves without waiting, a bounded amount per call. */
void pl_echo_streams_serve(struct pl_echo_streams *streams);

const struct pl_echo_counts *pl_echo_streams_counts(const struct pl_echo_streams *streams);
/* Admitted connections that are open. */
uint32_t pl_echo_streams_admitted(const struct pl_echo_streams *streams);
