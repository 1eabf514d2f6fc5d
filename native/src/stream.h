/* One TCP connection of a flow, shared between the worker that serves it and the main thread that samples. */
#ifndef PL_STREAM_H
#define PL_STREAM_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "json.h"

enum pl_stream_state {
    PL_STREAM_OPEN,  /* carries data */
    PL_STREAM_SHUT,  /* a sender's: everything is written, the peer has not closed yet */
    PL_STREAM_ENDED, /* end of file seen */
    PL_STREAM_FAILED /* `failure` says why */
};

/* `bytes`, `state` and `failure` are written by the stream's worker alone. Aligned so that two workers never
 * write to one cache line (or to the pair that is fetched together). */
struct pl_stream {
    alignas(128) _Atomic uint64_t bytes;
    _Atomic int state;
    _Atomic int failure; /* errno; EPIPE: the peer closed before it should have */
    uint32_t number;     /* 0-based, as in the hello */
    int fd;              /* owned; -1 when closed. Open until the result is written, for TCP_INFO */
};

/* `count` streams without a descriptor; NULL with `error` set. Free with pl_streams_free(). */
struct pl_stream *pl_streams_create(uint32_t count, struct pl_error *error);
/* Closes the descriptors and frees. */
void pl_streams_free(struct pl_stream *streams, uint32_t count);

/* The "sockets" array, and the first stream's congestion control under "congestion" before it. */
void pl_streams_write_sockets(struct pl_json *j, const struct pl_stream *streams, uint32_t count);

#endif
