/* One direction of an emulated link: the model decides about each arriving wire packet, and delivered packets
 * wait here until they are due.
 *
 * Counters are of wire segments, so that
 *
 *   arrived + duplicated = queue_dropped + aqm_dropped + lost + overflow_dropped + delivered + write_errors
 *   + waiting. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "emulate/delay_line.h"
#include "emulate/delivery_latency.h"
#include "emulate/device.h"
#include "emulate/link.h"
#include "emulate/packet.h"
#include "emulate/trace.h"

struct pl_direction_counters {
    uint64_t duplicated_packets, delivered_packets, delivered_bytes;
    uint64_t waiting_packets;          /* now in the queue or on the way */
    uint64_t overflow_dropped_packets; /* dropped at the bound on buffers: outside the model */
    uint64_t write_errors;             /* segments that the kernel refused: outside the model */
    uint64_t unsplit_packets;          /* super-packets of a kind that passes as one packet */
    uint64_t unreadable_packets; /* of a kind that the kernel cannot deliver: dropped, not in `arrived` */
};

struct pl_direction {
    uint8_t index;               /* 0: a to b, 1: b to a */
    struct pl_device *from, *to; /* borrowed */
    struct pl_trace *trace;      /* borrowed; NULL: none */
    struct pl_link link;
    struct pl_delay_line line;
    struct pl_direction_counters counters;
    struct pl_histogram lateness;                /* of deliveries */
    struct pl_delivery_latency delivery_latency; /* of writes */
};

/* Decide about each wire packet of `packet`, which arrived at `now_ns`, and enqueue the delivered ones. Each
 * delivery that waits holds a reference to the packet; with none left the caller releases it. A mark on a
 * packet that is no super-packet is written into it. */
void pl_direction_admit(struct pl_direction *direction, struct pl_packet *packet, pl_ns now_ns);

/* Count a packet of `length_bytes` as dropped at the bound on buffers, per segment; the model does not see
 * it. `headers` has its first bytes (at least PL_SLICE_HEADER_BYTES_MAX or all). */
void pl_direction_drop(struct pl_direction *direction, const unsigned char *headers, size_t length_bytes);

/* Write one delivery to the device and count it. False with errno when the kernel refused it. */
bool pl_direction_write(struct pl_direction *direction, const struct pl_delivery *delivery);
