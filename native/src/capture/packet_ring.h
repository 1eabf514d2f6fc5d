/* Packets of this host's interfaces, by a packet socket with a ring in memory that the kernel fills
 * (TPACKET_V3). A full ring loses packets, which are counted, and never more memory. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"

enum { PL_RING_BLOCK_BYTES = 128 << 10 };

/* The longest time that a packet waits in the ring before it can be read. */
#define PL_RING_WAIT_NS (50 * PL_NS_PER_MS)

struct pl_packet {
    pl_ns time_ns; /* CLOCK_REALTIME */
    unsigned interface_index;
    uint32_t captured_bytes;
    uint32_t original_bytes;
    const uint8_t *data; /* captured_bytes, from the IP header on; in the ring, until the next call */
};

struct pl_ring_counts {
    uint64_t accepted; /* packets that passed the filter */
    uint64_t dropped;  /* of those, lost because the ring was full */
};

struct pl_packet_ring;

/* Opens the socket, attaches the filter and only then binds it, so that no other packet is ever recorded.
 * `interface_index` 0: all interfaces. `ring_bytes` is a multiple of PL_RING_BLOCK_BYTES. Gives up the
 * process's capabilities afterwards. NULL with `error` set (PL_SETUP), which names a missing privilege. */
struct pl_packet_ring *pl_packet_ring_open(struct sock_filter *filter, size_t instructions,
                                           unsigned interface_index, size_t ring_bytes,
                                           struct pl_error *error);
void pl_packet_ring_close(struct pl_packet_ring *ring);

/* Readable when packets are in the ring, or when the interface is gone. */
int pl_packet_ring_fd(const struct pl_packet_ring *ring);

/* The next packet; false when there is none for now. */
bool pl_packet_ring_next(struct pl_packet_ring *ring, struct pl_packet *packet);

/* The error that is pending on the socket (ENETDOWN: its only interface is down or gone); 0: none. */
int pl_packet_ring_failure(struct pl_packet_ring *ring);

/* Lets no more packets in. Those in the ring can still be read. */
void pl_packet_ring_stop(struct pl_packet_ring *ring);

/* Since the ring was opened. */
struct pl_ring_counts pl_packet_ring_counts(struct pl_packet_ring *ring);
