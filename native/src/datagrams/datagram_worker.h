/* The threads of a flow of datagrams: a worker sends, or receives, the datagrams of its streams. In both
 * directions at once, each share of the streams has one thread for either. */
#ifndef PL_DATAGRAM_WORKER_H
#define PL_DATAGRAM_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "datagrams/datagram_link.h"
#include "flow/flow.h"
#include "flow/worker.h"

/* Threads for each worker that the flow asks for. */
uint32_t pl_datagram_threads(const struct pl_flow *flow);
/* Before a worker's thread starts: gives worker `number` of `lanes` its role. False with `error` set. */
bool pl_datagram_prepare(struct pl_worker *worker, uint32_t number, uint32_t lanes, struct pl_error *error);
/* The thread's body; `worker` is a struct pl_worker. */
void *pl_datagram_worker_run(void *worker);

/* The bodies of the roles. */
void pl_datagram_source_run(struct pl_worker *worker);
void pl_datagram_sink_run(struct pl_worker *worker);
/* The buffers of one that receives, for its `state`; NULL when memory ran out. */
void *pl_datagram_sink_create(void);

/* For the bodies. */

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
/* The stream cannot carry datagrams any more. */
void pl_datagram_fail_sending(struct pl_worker *worker, struct pl_stream *stream, int cause);
/* Ends the stream once all has been stated in the directions that the flow has. */
void pl_datagram_end_if_done(struct pl_worker *worker, struct pl_stream *stream);
/* Whether the stream is open. */
bool pl_datagram_is_open(const struct pl_stream *stream);

#endif
