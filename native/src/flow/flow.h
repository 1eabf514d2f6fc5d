/* The settings of one end of a flow: flags and values derived from them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/marking.h"
#include "base/port_range.h"
#include "base/token.h"
#include "base/transport.h"
#include "datagrams/datagram_settings.h"
#include "messages/settings.h"

struct pl_flow_kind;

#define PL_MAX_STREAMS 4096
#define PL_MAX_WORKERS 256
#define PL_IDLE_TIMEOUT_NS (30 * PL_NS_PER_S)
#define PL_IDLE_TIMEOUT_UNSET (-1)

enum pl_tcp_info_detail { PL_TCP_INFO_NONE, PL_TCP_INFO_FIELDS_ONLY, PL_TCP_INFO_RAW };

/* Who paces the stream. */
enum pl_pacing { PL_PACING_OFF, PL_PACING_KERNEL, PL_PACING_USER, PL_PACING_TXTIME };

/* Values of the flags; integers are int64_t, as the table of flags needs them. At a receiver without these
 * flags `streams` is 0 and `warmup_ns` and `duration_ns` are -1 until the first hello states them. */
struct pl_flow {
    const char *address;        /* send: of the receiver */
    const char *receivers_text; /* send: several receivers instead */
    const char *bind;
    const char *token_text;
    const char *congestion;
    const char *control;
    const char *output_text;
    const char *transport_text;
    const char *transfer_text;
    const char *direction_text;
    const char *tcp_info_text;
    const char *pacing_text;
    const char *pin_text;
    const char *port_text; /* receive */
    struct pl_message_words message_words;
    struct pl_message_settings messages;
    struct pl_datagram_settings datagrams;
    struct pl_marking marking;
    int64_t port; /* send: of the receiver */
    int64_t streams;
    int64_t window_bytes;
    int64_t mss_bytes;
    bool no_delay;
    int64_t warmup_ns;
    int64_t duration_ns;
    int64_t bytes; /* to be carried in each direction, over all streams; 0: by time */
    int64_t interval_ns;
    int64_t workers;
    int64_t nice;
    int64_t write_bytes;
    int64_t read_bytes;
    int64_t rate_bits_per_s;        /* of all streams; 0: no limit */
    int64_t stream_rate_bits_per_s; /* of each stream; 0: no limit */
    int64_t flows;                  /* receive: flows to serve one after the other; 0: no limit */
    int64_t admission_timeout_ns;   /* until every stream is connected and admitted */
    int64_t idle_timeout_ns;        /* receive: of an incomplete or silent flow; 0: never */
    int64_t drain_timeout_ns;
    int64_t volume_limit_bytes;
    int64_t time_limit_ns;
    int64_t memory_limit_bytes;

    /* Derived from the above. */
    const struct pl_flow_kind *kind; /* what it carries, as far as is known */
    uint8_t token[PL_TOKEN_BYTES];   /* by pl_token_read() */
    struct pl_port_range ports;      /* receive: the first free one is used */
    bool accepting;                  /* the listening side */
    bool transmits;
    bool receives;
    bool zero_copy;
    bool human;
    bool open; /* no token is required */
    bool udp;  /* --transport udp: `transport` is that of the streams, by which those of UDP are admitted */
    enum pl_transport transport;
    enum pl_tcp_info_detail tcp_info;
    enum pl_pacing pacing;
    int cores[PL_MAX_WORKERS]; /* cores to pin the workers to, in turn */
    size_t core_count;
    bool writes_chosen;        /* write_bytes is not a requested size */
    int64_t held_window_bytes; /* size at which the receive window is held; 0: autotuning */
};

/* The flags of the hello; 0 at a receiver that does not know the direction yet. */
uint16_t pl_flow_direction(const struct pl_flow *flow);
/* Rounds writes and the held window to whole segments of the connected streams: Linux fills a small window by
 * whole segments only, and offers it in whole segments of the size that it sees arrive. */
void pl_flow_fit_segments(struct pl_flow *flow, int64_t mss_bytes);
/* Descriptors that `streams` and the workers need: a stream whose data UDP carries has two sockets. */
uint64_t pl_flow_descriptors(const struct pl_flow *flow, int64_t streams);
/* The rate limit of one stream in bit/s; 0: none. */
int64_t pl_flow_stream_rate(const struct pl_flow *flow);
/* The share of a stream in `bytes`; the first streams carry the remainder. */
uint64_t pl_flow_stream_bytes(const struct pl_flow *flow, uint32_t stream);
/* The whole messages in that share. */
uint64_t pl_flow_stream_messages(const struct pl_flow *flow, uint32_t stream);
