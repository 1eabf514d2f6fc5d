/* Super-packets behind a virtio-net header, of TCP and of UDP over IPv4 and IPv6: the offsets of their wire
 * segments, and how to cut some of them out.
 *
 * The kernel passes up to 64 KiB as one packet that it would have segmented at the device. The link
 * serializes, queues and loses each segment; a run of segments that arrive together may be written as one
 * smaller super-packet. The header is virtio's legacy one of 10 bytes in the byte order of the host. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PL_VIRTIO_HEADER_BYTES = 10, PL_SLICE_HEADER_BYTES_MAX = 256 };

enum pl_packet_kind {
    PL_PACKET_PLAIN,   /* one wire packet */
    PL_PACKET_SUPER,   /* a super-packet of TCP or of UDP datagrams; the layout is valid */
    PL_PACKET_UNSPLIT, /* a super-packet of another kind or a malformed one: passes as one packet */
};

struct pl_superpacket {
    uint32_t ip_at, transport_at, payload_at; /* offsets in the packet */
    uint32_t payload_bytes, segment_bytes, segments;
    bool ipv6, udp; /* else IPv4, TCP */
};

struct pl_slice {
    unsigned char header[PL_SLICE_HEADER_BYTES_MAX];
    uint32_t header_bytes;
    uint32_t payload_at, payload_bytes; /* in the packet that was cut */
};

/* Classify `data`; `link_header_bytes` lie between the virtio-net and the IP header. IPv6 hop-by-hop and
 * destination options may precede the transport; other extension headers, some of which change what the
 * checksum covers, make it PL_PACKET_UNSPLIT. Reads nothing outside `length_bytes`, nor behind
 * PL_SLICE_HEADER_BYTES_MAX. `layout` is filled for PL_PACKET_SUPER only. */
enum pl_packet_kind pl_superpacket_parse(const unsigned char *data, size_t length_bytes,
                                         uint32_t link_header_bytes, struct pl_superpacket *layout);

/* Size at IP level of segment `index` (0-based). */
uint32_t pl_superpacket_segment_ip_bytes(const struct pl_superpacket *layout, uint32_t index);

/* Size at IP level, on the wire, of `count` segments from `first`: each has its own headers. */
uint64_t pl_superpacket_wire_bytes(const struct pl_superpacket *layout, uint32_t first, uint32_t count);

/* Make the header of a packet that carries `count` >= 1 segments from `first`, and set the offset of its
 * payload. Changes lengths, IPv4's id and checksum, TCP's sequence number, FIN and PSH (last segment only)
 * and CWR (first only), and a partial transport checksum; every other bit is the super-packet's. */
void pl_superpacket_cut(const unsigned char *data, const struct pl_superpacket *layout, uint32_t first,
                        uint32_t count, struct pl_slice *slice);
