/* What a flow carries: bytes, messages or datagrams. Each kind has a folder; the files of flow/, which serve
 * all kinds, ask the flow's kind for what differs. A function that a kind does not need is NULL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "flow/phases.h"

struct pl_counters;
struct pl_flow;
struct pl_stream;
struct pl_worker;

/* What a kind counts besides bytes, and how records and text state it. `samples` is what create() returned.
 */
struct pl_kind_counts {
    void *(*create)(const struct pl_flow *flow); /* NULL when memory ran out */
    void (*free)(void *samples);
    /* Samples every stream now. */
    void (*take)(void *samples, const struct pl_counters *counters);
    /* Closes the interval of `phase`, of which the latest sample is the end; `enters`: the steady window
     * begins. */
    void (*close_interval)(void *samples, const struct pl_counters *counters, enum pl_phase phase,
                           bool enters);
    /* Takes what the workers have recorded; with `j` its records are written. False when the output is gone.
     */
    bool (*collect)(void *samples, const struct pl_counters *counters, struct pl_json *j);

    /* Members of the records ready, interval, each phase of the result, and result. */
    void (*write_settings)(struct pl_json *j, const struct pl_counters *counters);
    void (*write_interval)(struct pl_json *j, const struct pl_counters *counters);
    void (*write_phase)(struct pl_json *j, const struct pl_counters *counters, enum pl_phase phase);
    void (*write_result)(struct pl_json *j, const struct pl_counters *counters);
    /* Text: a line of settings, headings and columns of the intervals, and lines of the result. */
    void (*print_settings)(const struct pl_counters *counters);
    void (*print_headings)(const struct pl_counters *counters);
    void (*print_interval)(const struct pl_counters *counters);
    void (*print_result)(const struct pl_counters *counters);
};

struct pl_flow_kind {
    const char *protocol;  /* what a peer breaks that does not follow it */
    const char *transport; /* in records and text; NULL: that of the streams */
    bool by_streams; /* the streams carry the data: windows, MSS and the sender's TCP_INFO are those of the
                        data */
    bool
        one_role; /* a thread has one role: it only sleeps before the start, and its first data may be late */
    bool long_calls; /* a thread sleeps for intended times, and publishes nothing while it waits in a call */
    bool own_data;   /* what it sends has a content: the pool prepares no bytes to send */

    /* Derives what follows from the settings; called again once the number of streams is known. */
    void (*derive)(struct pl_flow *flow);
    /* Threads for each worker that the flow has. */
    uint32_t (*count_threads)(const struct pl_flow *flow);
    /* Before the workers of an end that sends: prepares a stream's socket. False with `error` set. */
    bool (*prepare_stream)(const struct pl_flow *flow, struct pl_stream *stream, struct pl_error *error);
    /* Before the thread of worker `number` starts; the flow has `lanes` workers. False with `error` set. */
    bool (*prepare_worker)(struct pl_worker *worker, const struct pl_flow *flow, uint32_t number,
                           uint32_t lanes, struct pl_error *error);
    /* What a worker's thread does from the start of the trial on. */
    void (*run)(struct pl_worker *worker);
    /* Ends the wait of a worker's thread, which then looks at the mode. A thread that is just about to wait
     * misses it. */
    void (*kick)(const struct pl_worker *worker);

    /* Opens what carries the data of the admitted streams, and gives each stream its part. NULL with `error`
     * set. */
    void *(*open)(const struct pl_flow *flow, struct pl_stream *streams, struct pl_error *error);
    void (*close)(void *carriers, const struct pl_flow *flow);
    /* The socket that carries a stream's data; -1 where it is no socket, or another stream's. NULL: the
     * stream's own. Of -1 the kernel reports nothing. */
    int (*find_data_fd)(const struct pl_stream *stream);
    /* Whether a flow by bytes has received all of them. */
    bool (*has_all)(const struct pl_flow *flow, const struct pl_stream *streams);
    /* Writes why a stream failed; false where the kind knows no more than the errno. */
    bool (*describe_failure)(const struct pl_flow *flow, const struct pl_stream *stream, int failure,
                             char *text, size_t bytes);

    const struct pl_kind_counts *counts; /* NULL: bytes alone */
};
