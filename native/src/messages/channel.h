/* One end of a connection that carries messages: a socket, two pipes, or two rings in shared memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/transport.h"
#include "messages/ring.h"

/* What carries the data of an admitted stream. */
enum pl_carrier {
    PL_CARRIER_STREAM,   /* the stream's own socket */
    PL_CARRIER_UDP,      /* a datagram per message, between the addresses of the stream */
    PL_CARRIER_DATAGRAM, /* a Unix datagram per message */
    PL_CARRIER_PIPE,
    PL_CARRIER_RING,  /* shared memory; the reader sleeps by futex */
    PL_CARRIER_EVENT, /* shared memory; the reader sleeps by eventfd */
    PL_CARRIERS
};

/* NULL for the stream itself: its transport has a name. */
const char *pl_carrier_name(enum pl_carrier carrier);
/* The transport on which the streams of a carrier are admitted; of PL_CARRIER_STREAM there is none of its
 * own. */
enum pl_transport pl_carrier_transport(enum pl_carrier carrier);
/* Whether it carries datagrams, which can be lost and of which each is one message. */
bool pl_carrier_is_datagram(enum pl_carrier carrier);

/* Zero-initialise; then pl_channel_open(). */
struct pl_channel {
    enum pl_carrier carrier;
    bool polls;    /* spins instead of sleeping */
    int stream_fd; /* borrowed: the admitted stream */
    int read_fd;   /* of sockets and pipes */
    int write_fd;
    int event_fds[2]; /* of PL_CARRIER_EVENT: what this end waits on, and what its peer waits on */
    struct pl_ring in;
    struct pl_ring out;
    uint64_t read_calls; /* system calls made; reading and writing may be two threads */
    uint64_t write_calls;
    bool (*is_over)(const void *context); /* whether to give up waiting; asked after signals and time-outs */
    const void *context;
    /* What the thread of a spinning write does while there is no room; 0, or an errno that ends the write.
     * NULL: nothing. */
    int (*meanwhile)(void *context);
    void *meanwhile_context;
};

void pl_channel_close(struct pl_channel *channel);

/* Writes all of it. 0, or an errno; ECANCELED when `is_over` said so. */
int pl_channel_write(struct pl_channel *channel, const uint8_t *data, size_t bytes);
/* Reads what there is, at least one byte, waiting for it. 0 at the end of the data, -1 with errno; EAGAIN at
 * `deadline_ns` (PL_NEVER: none), ECANCELED when `is_over` said so. */
ssize_t pl_channel_read(struct pl_channel *channel, uint8_t *data, size_t most, pl_ns deadline_ns);
/* The same without waiting: EAGAIN where there is nothing. */
ssize_t pl_channel_try_read(struct pl_channel *channel, uint8_t *data, size_t most);
/* States the end of this end's data. */
void pl_channel_end_writing(struct pl_channel *channel);
