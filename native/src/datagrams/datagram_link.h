/* What one end of a stream keeps when it carries datagrams: its UDP socket, the counts of both directions,
 * and what the ends state over the stream. Written by the stream's workers, read by the main thread. */
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/histogram.h"
#include "datagrams/datagram_header.h"
#include "datagrams/sequence_meter.h"
#include "datagrams/statement.h"

/* What the meter of a stream has counted: of all datagrams, or of those that were sent in the steady window.
 */
struct pl_datagram_counts {
    _Atomic uint64_t received; /* different ones */
    _Atomic uint64_t lost;     /* passed over so far; of the window: known once it is closed */
    _Atomic uint64_t duplicates;
    _Atomic uint64_t reordered;
    _Atomic uint64_t unclassified; /* too late to say whether they are copies; they stay lost */
    _Atomic int64_t jitter_ns;     /* -1: unknown */
};

/* Codepoints of the ECN field (RFC 3168). */
enum { PL_ECN_CODEPOINTS = 4 };

struct pl_datagram_link {
    /* By the worker that sends. */
    alignas(128) _Atomic uint64_t sent[PL_DATAGRAM_PHASES];
    _Atomic uint64_t refused[PL_DATAGRAM_PHASES];  /* by the kernel */
    _Atomic uint64_t unreachable;                  /* ICMP */
    _Atomic uint64_t given_up[PL_DATAGRAM_PHASES]; /* due, and not sent since the sender was too late */
    _Atomic uint64_t calls;
    _Atomic int send_failure; /* errno of this end; the worker that reads the statements ends the stream */
    _Atomic bool sends_over;
    uint32_t check_out;
    /* By the worker that receives. */
    alignas(128) struct pl_datagram_counts all;
    struct pl_datagram_counts steady;
    _Atomic uint64_t foreign; /* datagrams that are not of this stream */
    _Atomic uint64_t marks[PL_ECN_CODEPOINTS];
    uint32_t check_in;
    struct pl_sequence_meter *meter;
    struct pl_reordering *reordering; /* borrowed: of all streams of the worker */
    pl_ns heard_ns;                   /* the latest datagram, or the end that the peer stated */
    pl_ns ended_ns;                   /* when the peer stated its end */
    bool receipted;                   /* the counts were stated to the peer */
    /* By the worker that reads the statements. */
    struct pl_statement_reader reader;
    struct pl_statement end;     /* of the peer */
    struct pl_statement receipt; /* of the peer */
    _Atomic bool started;        /* the peer has stated the start */
    _Atomic bool ended;
    _Atomic bool confirmed;
    int fd; /* owned; -1: none */
};

struct pl_flow;
struct pl_stream;

/* Those of all streams, and the histograms that each worker fills. */
struct pl_datagram_links {
    struct pl_datagram_link *links;
    struct pl_reordering *reorderings; /* of worker w, which has the streams s with s modulo `workers` = w */
    uint32_t count;
    uint32_t workers;
};

/* The links of a flow whose streams are all admitted: opens and connects their sockets, and gives each stream
 * its link. NULL with `error` set. Free with pl_datagram_links_free(). */
struct pl_datagram_links *pl_datagram_links_open(const struct pl_flow *flow, struct pl_stream *streams,
                                                 struct pl_error *error);
void pl_datagram_links_free(struct pl_datagram_links *links);

/* Reads what the kernel has queued about datagrams of this end. Returns how many of them ICMP has reported.
 */
uint32_t pl_datagram_link_take_errors(const struct pl_datagram_link *link);

/* Datagrams that the kernel has taken; 0 for NULL. */
uint64_t pl_datagram_link_sent(const struct pl_datagram_link *link);
/* Lets the main thread see the counts. */
void pl_datagram_link_publish(struct pl_datagram_link *link);
/* The peer will send nothing more: closes the window of the meter with what it has stated. */
void pl_datagram_link_close_window(struct pl_datagram_link *link);
/* Whether every datagram that the peer states as sent has come. */
bool pl_datagram_link_is_complete(const struct pl_datagram_link *link);
