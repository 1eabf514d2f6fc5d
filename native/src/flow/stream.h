/* One connection of a flow, shared between the worker that serves it and the main thread that samples. */
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "streams/backlog.h"

/* The byte count that a side that only receives sends before it closes, in network byte order. */
#define PL_CONFIRMATION_BYTES 8

struct pl_datagram_link;
struct pl_flow_kind;
struct pl_endpoint;

enum pl_stream_state {
    PL_STREAM_OPEN,  /* carries data */
    PL_STREAM_SHUT,  /* this end has shut its side, the peer has not closed yet */
    PL_STREAM_ENDED, /* both sides are shut */
    PL_STREAM_FAILED /* `failure` has the reason */
};

/* Written by the stream's worker alone. Aligned so that two workers never write to one cache line (or to the
 * pair that is fetched together). */
struct pl_stream {
    alignas(128) _Atomic uint64_t sent_bytes;
    _Atomic uint64_t received_bytes;
    _Atomic int state;
    _Atomic int failure;  /* errno; EPIPE: the peer closed too early */
    uint64_t quota_bytes; /* left to send; UINT64_MAX: no limit */
    struct pl_backlog backlog;
    pl_ns due_ns; /* user-space pacing and pauses: earliest time of the next write */
    uint8_t confirmation[PL_CONFIRMATION_BYTES]; /* from a peer that only receives, at the end */
    uint32_t confirmed;                          /* bytes of it that have arrived */
    bool writing;                                /* has data to write */
    bool paused;                                 /* waits for due_ns */
    bool received_any;                           /* has read a byte: the accepting side sends from then on */
    bool shut;                                   /* this end's side is shut: a FIN was sent */
    bool ended;                                  /* the peer's end of file was read */
    uint32_t number;                             /* 0-based, as in the hello */
    struct pl_datagram_link *link;               /* borrowed; of a flow of datagrams, else NULL */
    struct pl_endpoint *endpoint;                /* borrowed; of a flow of messages, else NULL */
    int fd; /* owned; -1 when closed. Open until the result is written, for TCP_INFO */
};

/* `count` streams without a descriptor; NULL with `error` set. Free with pl_streams_free(). */
struct pl_stream *pl_streams_create(uint32_t count, struct pl_error *error);
/* Closes the descriptors and frees. */
void pl_streams_free(struct pl_stream *streams, uint32_t count);

/* The socket that carries the data of a flow of that kind; -1: none of which the kernel reports anything. */
int pl_stream_data_fd(const struct pl_stream *stream, const struct pl_flow_kind *kind);

/* The peer has stated the bytes that it received. */
void pl_stream_confirm(struct pl_stream *stream, uint64_t bytes);

/* The "sockets" array, and the first stream's congestion control under "congestion" before it. */
void pl_streams_write_sockets(struct pl_json *j, const struct pl_stream *streams, uint32_t count,
                              const struct pl_flow_kind *kind);
