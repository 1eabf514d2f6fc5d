/* The kernel's filter of a capture: which packets of a socket without a link header (SOCK_DGRAM) are
 * recorded, and how many of their bytes: the headers of IP and of the transport, without payload.
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "capture/interfaces.h"

enum {
    PL_FILTER_ADDRESSES_MAX = 8,
    PL_FILTER_PORTS_MAX = 8,
    PL_FILTER_INSTRUCTIONS_MAX = 640,
};

struct pl_filter_addresses {
    struct pl_address list[PL_FILTER_ADDRESSES_MAX];
    size_t count; /* 0: any */
};

/* A packet is recorded when all of this holds. */
struct pl_packet_filter {
    bool tcp;
    bool udp;
    bool sctp;
    struct pl_filter_addresses addresses;   /* its source or its destination is one of them */
    struct pl_filter_addresses peers;       /* the same of a second list */
    uint16_t ports[PL_FILTER_PORTS_MAX];    /* its source or destination port is one of them */
    size_t port_count;                      /* 0: any */
    const struct pl_interfaces *interfaces; /* it passes one of them */
    uint32_t snap_bytes;                    /* most bytes of a packet that are recorded */
    uint32_t udp_payload_bytes;             /* recorded behind a UDP header */
};

/* Writes the program (at most PL_FILTER_INSTRUCTIONS_MAX instructions) and returns its length.
 *
 * Never recorded: fragments but the first (they have no ports), packets behind IPv6 extension headers,
 * packets that carry a VLAN tag unless the interfaces were named (their VLAN's own interface shows them), and
 * on a loopback interface the outgoing copy of each packet. */
size_t pl_packet_filter_build(const struct pl_packet_filter *filter, struct sock_filter *program);
