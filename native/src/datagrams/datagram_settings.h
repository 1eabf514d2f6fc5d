/* What a flow of datagrams was asked to do: UDP, where each datagram has a number and the receiver states
 * which of them came. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define PL_PACKET_RATE_MAX INT64_C(1000000000)
/* Datagrams of one super-packet: UDP_MAX_SEGMENTS of the oldest kernels that have UDP_SEGMENT. */
#define PL_SEGMENTS_MAX 64

/* The word of --pacing. */
enum pl_pacing_request {
    PL_PACE_AUTO,
    PL_PACE_BY_KERNEL,
    PL_PACE_BY_USER,
    PL_PACE_BY_TXTIME,
    PL_PACE_REQUESTS
};

struct pl_datagram_settings {
    bool carried;          /* the flow is one of datagrams; at a receiver once a hello has said so */
    int64_t bytes;         /* payload of each; 0: what the path's MTU carries, until that is known */
    int64_t packets_per_s; /* offered, over all streams in each direction; 0: by the rate in bits */
    bool gso;
    bool gro;
    bool counts_ecn;         /* the marks of received datagrams are counted */
    int64_t rate_bits_per_s; /* of the hello: payload of all streams in each direction; 0: no limit */
    enum pl_pacing_request pacing;

    /* Derived. */
    uint32_t segments;          /* datagrams of one super-packet; 1: none */
    int64_t offered_bits_per_s; /* payload of all streams in each direction; 0: as fast as possible */
    bool paced_here;            /* by the threads that send, not by the kernel */
    bool hands_over_early;      /* with the times at which the kernel is to send them */
    uint32_t batch;             /* super-packets, or datagrams, handed over in one call */
};

/* The payload that a path's MTU carries with IPv4, or IPv6; at most 65,507. */
int64_t pl_datagram_fit(int64_t mtu_bytes, bool v6);

/* Derives the sizes of super-packets and of batches for streams of `stream_rate_bits_per_s` (0: as fast as
 * possible), of which one thread serves `streams`. */
void pl_datagram_settings_derive(struct pl_datagram_settings *settings, int64_t stream_rate_bits_per_s,
                                 uint32_t streams);

/* Payload bytes that are handed over in one call. */
int64_t pl_datagram_call_bytes(const struct pl_datagram_settings *settings);
