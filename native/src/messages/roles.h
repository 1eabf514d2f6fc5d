/* The roles that a thread of a flow of messages can have: their bodies, and what these share. A body returns
 * when the role is over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/worker.h"
#include "messages/endpoint.h"

enum pl_role {
    PL_ROLE_SOURCE,   /* sends, in rounds over its streams */
    PL_ROLE_SINK,     /* receives and checks */
    PL_ROLE_RELAY,    /* returns every message */
    PL_ROLE_ASKER,    /* sends a message when the one before has returned */
    PL_ROLE_SENDER,   /* sends on time what will be returned */
    PL_ROLE_RECEIVER, /* receives what was returned */
    PL_ROLE_POLLER,   /* both of them, spinning */
    PL_ROLE_FUSED     /* source and sink in one thread */
};

void pl_source_run(struct pl_worker *worker);
void pl_sink_run(struct pl_worker *worker);
void pl_relay_run(struct pl_worker *worker);
void pl_asker_run(struct pl_worker *worker);
void pl_sender_run(struct pl_worker *worker);
void pl_receiver_run(struct pl_worker *worker);
void pl_poller_run(struct pl_worker *worker);
void pl_fused_run(struct pl_worker *worker);

/* Whether the worker may go on sending; false from the end of the steady window on. */
bool pl_role_sends(const struct pl_worker *worker);
/* Whether the trial is given up: nothing more is waited for. */
bool pl_role_is_over(const void *worker);
/* Publishes the usage of the thread, the calls of its channels included. */
void pl_role_publish(struct pl_worker *worker, pl_ns now_ns);
/* The same when it is due. */
void pl_role_tick(struct pl_worker *worker, pl_ns now_ns);

/* Sends whole messages and counts them. 0, or an errno; ECANCELED at the limit of bytes. */
int pl_role_send(struct pl_worker *worker, struct pl_stream *stream, const uint8_t *data, size_t bytes,
                 uint32_t messages);
/* Sends the batch and clears it; returns as pl_role_send() does. */
int pl_role_send_batch(struct pl_worker *worker, struct pl_stream *stream);
/* Counts messages that were sent in one call. */
void pl_role_count_sent(struct pl_stream *stream, size_t bytes, uint64_t messages);
/* The messages that a stream may still send: its share of the flow's bytes, by the size of a message. */
uint64_t pl_role_find_quota(const struct pl_worker *worker, const struct pl_stream *stream);
/* Counts data that was received, and the arrival. */
void pl_role_count_received(struct pl_worker *worker, struct pl_stream *stream, size_t bytes, pl_ns now_ns);
/* Lets the main thread see the counts of the sequence. */
void pl_role_publish_sequence(struct pl_endpoint *endpoint);
/* The end of a sink's data: confirms the bytes received to the sender. */
void pl_role_confirm(struct pl_worker *worker, struct pl_stream *stream);
/* Waits for the sink's confirmation. 0, or an errno. */
int pl_role_await_confirmation(struct pl_worker *worker, struct pl_stream *stream);
/* The stream is over; `cause` 0 for a good end. A trial that is given up leaves the stream as it is. */
void pl_role_end_stream(struct pl_worker *worker, struct pl_stream *stream, int cause);
