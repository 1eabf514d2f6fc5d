/* The streams of a flow of datagrams as their threads see them: statements between the ends, failures, ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "datagrams/datagram_link.h"
#include "flow/worker.h"

/* What an epoll event belongs to: 0 the wake-up, else stream i of the worker: 2 (i + 1), and 1 for its UDP
 * socket. */
#define PL_DATAGRAM_EVENT(index, datagrams) (2 * ((uint64_t)(index) + 1) + ((datagrams) ? 1 : 0))

/* Whether the trial is given up. */
bool pl_datagram_is_over(const struct pl_worker *worker);
/* Publishes the thread's usage when it is due. */
void pl_datagram_tick(struct pl_worker *worker, pl_ns now_ns);
/* Serves what has come over the streams themselves, waiting for it for at most `timeout_ms`: statements, ends
 * and failures. Sets `readable` (NULL: nothing is read) of the streams whose sockets have datagrams. */
void pl_datagram_serve(struct pl_worker *worker, int timeout_ms,
                       void (*on_readable)(struct pl_worker *worker, struct pl_stream *stream));
/* States something to the peer. */
void pl_datagram_state(struct pl_worker *worker, struct pl_stream *stream,
                       const struct pl_statement *statement);
/* The stream failed, if it is still open. */
void pl_datagram_fail(struct pl_worker *worker, struct pl_stream *stream, int cause);
/* The stream cannot carry datagrams any more. */
void pl_datagram_fail_sending(struct pl_worker *worker, struct pl_stream *stream, int cause);
/* Ends the stream once all has been stated in the directions that the flow has. */
void pl_datagram_end_if_done(struct pl_worker *worker, struct pl_stream *stream);
/* Whether the stream is open. */
bool pl_datagram_is_open(const struct pl_stream *stream);
