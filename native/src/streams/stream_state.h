/* The state of one stream of bytes: open, paused, shut, ended; changed by the worker that serves it. */
#pragma once

#include <stdbool.h>

#include "base/clock.h"
#include "flow/stream.h"
#include "flow/worker.h"

/* The step of pauses and of user-space pacing. */
#define PL_PAUSE_MS 1

/* Whether the stream carries data. */
bool pl_stream_is_open(const struct pl_stream *stream);
/* Whether this end still carries data. */
bool pl_worker_runs(const struct pl_worker *worker);
/* Both directions are shut: closes the stream once the peer's kernel has acknowledged all bytes; a stream
 * that sends and receives has no other confirmation. */
void pl_stream_finish(struct pl_worker *worker, struct pl_stream *stream);
/* Pauses the stream until `until_ns`. */
void pl_stream_pause(struct pl_worker *worker, struct pl_stream *stream, pl_ns until_ns);
/* Begins to watch the stream; false with errno set. */
bool pl_stream_begin_watch(struct pl_worker *worker, struct pl_stream *stream);
/* Updates the stream's epoll events. */
void pl_stream_watch(struct pl_worker *worker, struct pl_stream *stream);
/* Shuts this end's side of the stream, and closes it when the peer's side is shut. */
void pl_stream_shut(struct pl_worker *worker, struct pl_stream *stream);
