/* One connection of a flow, shared between the worker that serves it and the main thread that samples. */
#ifndef PL_STREAM_H
#define PL_STREAM_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "flow/backlog.h"

/* A side that only receives states what it received, in network byte order, before it closes. */
#define PL_CONFIRMATION_BYTES 8

enum pl_stream_state {
    PL_STREAM_OPEN,  /* carries data */
    PL_STREAM_SHUT,  /* everything is written, the peer has not closed yet */
    PL_STREAM_ENDED, /* both sides are over */
    PL_STREAM_FAILED /* `failure` says why */
};

/* Written by the stream's worker alone. Aligned so that two workers never write to one cache line (or to the
 * pair that is fetched together). */
struct pl_stream {
    alignas(128) _Atomic uint64_t sent_bytes;
    _Atomic uint64_t received_bytes;
    _Atomic int state;
    _Atomic int failure;  /* errno; EPIPE: the peer closed before it should have */
    uint64_t quota_bytes; /* left to send; UINT64_MAX: no limit */
    struct pl_backlog backlog;
    pl_ns due_ns; /* user-space pacing, and a pause: when the next write may begin */
    uint8_t confirmation[PL_CONFIRMATION_BYTES]; /* what a peer that only receives says in the end */
    uint32_t confirmed;                          /* bytes of it that have come */
    bool writing;                                /* wants to be told when there is room */
    bool paused;                                 /* waits for due_ns */
    bool received_any; /* has read something: the accepting side sends from then on */
    bool shut;         /* this end's side is shut: an end of file is under way, too */
    bool ended;        /* the peer's end of file was read */
    uint32_t number;   /* 0-based, as in the hello */
    int fd;            /* owned; -1 when closed. Open until the result is written, for TCP_INFO */
};

/* `count` streams without a descriptor; NULL with `error` set. Free with pl_streams_free(). */
struct pl_stream *pl_streams_create(uint32_t count, struct pl_error *error);
/* Closes the descriptors and frees. */
void pl_streams_free(struct pl_stream *streams, uint32_t count);

/* The "sockets" array, and the first stream's congestion control under "congestion" before it. */
void pl_streams_write_sockets(struct pl_json *j, const struct pl_stream *streams, uint32_t count);

#endif
