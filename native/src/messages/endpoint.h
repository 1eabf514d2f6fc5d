/* What one end of a stream keeps when it carries messages: written by the stream's worker, read by the main
 * thread. */
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "base/histogram.h"
#include "messages/batch.h"
#include "messages/channel.h"
#include "messages/latency_log.h"
#include "messages/sequence.h"
#include "messages/settings.h"

struct pl_endpoint {
    /* By the worker that sends. */
    alignas(128) _Atomic uint64_t sent;
    _Atomic uint64_t batches;
    struct pl_batch batch;
    struct pl_histogram send_lateness; /* against the intended times; read after the worker's end */
    _Atomic bool sends_over;
    _Atomic int send_failure; /* errno; the worker that receives reports it */
    /* By the worker that receives; the same one or another. */
    alignas(128) _Atomic uint64_t received;
    _Atomic uint64_t missing;
    _Atomic uint64_t out_of_order;
    _Atomic int64_t first_arrival_ns; /* on pl_now_ns()'s clock; 0: none */
    _Atomic int64_t last_arrival_ns;
    struct pl_sequence sequence;
    uint64_t answered;                  /* the highest number that has returned, and 1 */
    struct pl_latency_log *round_trips; /* of an end whose messages are returned */
    struct pl_channel channel;
};

struct pl_flow;
struct pl_stream;

/* The endpoints of a flow whose streams are all admitted: sets up what carries their messages, over the
 * streams, and gives each stream its endpoint. NULL with `error` set. Free with pl_endpoints_free(). */
struct pl_endpoint *pl_endpoints_open(const struct pl_flow *flow, struct pl_stream *streams,
                                      struct pl_error *error);
void pl_endpoints_free(struct pl_endpoint *endpoints, uint32_t count);

/* The messages that have been received, or sent; 0 for NULL. */
uint64_t pl_endpoint_messages(const struct pl_endpoint *endpoint, bool received);
