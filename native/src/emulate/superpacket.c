#include "emulate/superpacket.h"

#include <linux/virtio_net.h>
#include <string.h>

#include "base/bytes.h"

enum {
    IPV4_HEADER_BYTES_MIN = 20,
    IPV4_TOTAL_LENGTH_AT = 2,
    IPV4_ID_AT = 4,
    IPV4_FRAGMENT_AT = 6,
    IPV4_PROTOCOL_AT = 9,
    IPV4_CHECKSUM_AT = 10,
    IPV4_ADDRESSES_AT = 12,
    IPV4_ADDRESSES_BYTES = 8,
    IPV4_FRAGMENT_MASK = 0x3fff, /* "more fragments" and the offset; not "don't fragment" */
    IPV6_HEADER_BYTES = 40,
    IPV6_PAYLOAD_LENGTH_AT = 4,
    IPV6_NEXT_HEADER_AT = 6,
    IPV6_ADDRESSES_AT = 8,
    IPV6_ADDRESSES_BYTES = 32,
    EXTENSION_UNIT_BYTES = 8,
    TCP_HEADER_BYTES_MIN = 20,
    TCP_SEQUENCE_AT = 4,
    TCP_DATA_OFFSET_AT = 12,
    TCP_FLAGS_AT = 13,
    TCP_CHECKSUM_AT = 16,
    TCP_FIN = 0x01,
    TCP_PSH = 0x08,
    TCP_CWR = 0x80,
    UDP_HEADER_BYTES = 8,
    UDP_LENGTH_AT = 4,
    UDP_CHECKSUM_AT = 6,
    PROTOCOL_HOP_BY_HOP = 0,
    PROTOCOL_TCP = 6,
    PROTOCOL_UDP = 17,
    PROTOCOL_DESTINATION_OPTIONS = 60,
    GSO_UDP_L4 = 5 /* VIRTIO_NET_HDR_GSO_UDP_L4, which headers before Linux 6.2 do not have */
};

_Static_assert(sizeof(struct virtio_net_hdr) == PL_VIRTIO_HEADER_BYTES,
               "the legacy virtio-net header has 10 bytes");

static uint32_t protocol_of(const struct pl_superpacket *layout)
{
    return layout->udp ? PROTOCOL_UDP : PROTOCOL_TCP;
}

/* ---------- parsing ---------- */

/* Parse the IPv4 header: start of the transport and end of the packet. False for an inconsistent header. */
static bool parse_ipv4(const unsigned char *data, size_t length_bytes, struct pl_superpacket *layout,
                       size_t *end)
{
    if (length_bytes < layout->ip_at + (size_t)IPV4_HEADER_BYTES_MIN)
        return false;
    const unsigned char *ip = data + layout->ip_at;
    uint32_t header_bytes = (ip[0] & 0x0fU) * 4U;
    layout->transport_at = layout->ip_at + header_bytes;
    *end = layout->ip_at + (size_t)pl_get16(ip + IPV4_TOTAL_LENGTH_AT);
    return ip[0] >> 4 == 4 && header_bytes >= IPV4_HEADER_BYTES_MIN && *end <= length_bytes &&
           ip[IPV4_PROTOCOL_AT] == protocol_of(layout) &&
           (pl_get16(ip + IPV4_FRAGMENT_AT) & IPV4_FRAGMENT_MASK) == 0;
}

/* The same for IPv6, past the options. */
static bool parse_ipv6(const unsigned char *data, size_t length_bytes, struct pl_superpacket *layout,
                       size_t *end)
{
    size_t at = layout->ip_at + (size_t)IPV6_HEADER_BYTES;
    if (length_bytes < at || data[layout->ip_at] >> 4 != 6)
        return false;
    *end = at + pl_get16(data + layout->ip_at + IPV6_PAYLOAD_LENGTH_AT);
    if (*end > length_bytes)
        return false;
    unsigned next = data[layout->ip_at + IPV6_NEXT_HEADER_AT];
    while (next == PROTOCOL_HOP_BY_HOP || next == PROTOCOL_DESTINATION_OPTIONS) {
        if (at + EXTENSION_UNIT_BYTES > *end || at + EXTENSION_UNIT_BYTES > PL_SLICE_HEADER_BYTES_MAX)
            return false;
        next = data[at];
        at += (data[at + 1] + (size_t)1) * EXTENSION_UNIT_BYTES;
    }
    layout->transport_at = (uint32_t)at;
    return next == protocol_of(layout);
}

/* Parse the headers from IP on, of the kinds in `layout`; false when they are inconsistent. */
static bool parse_headers(const unsigned char *data, size_t length_bytes, struct pl_superpacket *layout)
{
    size_t end = 0;
    if (!(layout->ipv6 ? parse_ipv6 : parse_ipv4)(data, length_bytes, layout, &end))
        return false;
    const unsigned char *transport = data + layout->transport_at;
    uint32_t least_bytes = layout->udp ? UDP_HEADER_BYTES : TCP_HEADER_BYTES_MIN;
    size_t least_end = layout->transport_at + (size_t)least_bytes;
    if (least_end > end || least_end > PL_SLICE_HEADER_BYTES_MAX)
        return false;
    uint32_t header_bytes = layout->udp ? least_bytes : (uint32_t)(transport[TCP_DATA_OFFSET_AT] >> 4) * 4U;
    if (layout->udp && pl_get16(transport + UDP_LENGTH_AT) != end - layout->transport_at)
        return false;
    layout->payload_at = layout->transport_at + header_bytes;
    if (header_bytes < least_bytes || end <= layout->payload_at)
        return false;
    layout->payload_bytes = (uint32_t)end - layout->payload_at;
    return layout->payload_at <= PL_SLICE_HEADER_BYTES_MAX;
}

/* The protocols of a segmentation type; false for one that is not segmented here. */
static bool identify_kind(unsigned type, const unsigned char *data, size_t length_bytes,
                          struct pl_superpacket *layout)
{
    switch (type & ~(unsigned)VIRTIO_NET_HDR_GSO_ECN) {
    case VIRTIO_NET_HDR_GSO_TCPV4:
        return true;
    case VIRTIO_NET_HDR_GSO_TCPV6:
        layout->ipv6 = true;
        return true;
    case GSO_UDP_L4: /* of either family */
        layout->udp = true;
        layout->ipv6 = layout->ip_at < length_bytes && data[layout->ip_at] >> 4 == 6;
        return true;
    default:
        return false;
    }
}

enum pl_packet_kind pl_superpacket_parse(const unsigned char *data, size_t length_bytes,
                                         uint32_t link_header_bytes, struct pl_superpacket *layout)
{
    struct virtio_net_hdr virtio;
    if (length_bytes < sizeof virtio)
        return PL_PACKET_PLAIN;
    memcpy(&virtio, data, sizeof virtio);
    if (virtio.gso_type == VIRTIO_NET_HDR_GSO_NONE)
        return PL_PACKET_PLAIN;
    memset(layout, 0, sizeof *layout);
    layout->ip_at = (uint32_t)sizeof virtio + link_header_bytes;
    if (virtio.gso_size == 0 || !identify_kind(virtio.gso_type, data, length_bytes, layout) ||
        !parse_headers(data, length_bytes, layout))
        return PL_PACKET_UNSPLIT;
    layout->segment_bytes = virtio.gso_size;
    layout->segments = (layout->payload_bytes + layout->segment_bytes - 1) / layout->segment_bytes;
    return PL_PACKET_SUPER;
}

/* ---------- sizes ---------- */

static uint32_t segment_payload_bytes(const struct pl_superpacket *layout, uint32_t index)
{
    uint32_t left_bytes = layout->payload_bytes - index * layout->segment_bytes;
    return left_bytes < layout->segment_bytes ? left_bytes : layout->segment_bytes;
}

uint32_t pl_superpacket_segment_ip_bytes(const struct pl_superpacket *layout, uint32_t index)
{
    return layout->payload_at - layout->ip_at + segment_payload_bytes(layout, index);
}

static uint32_t slice_payload_bytes(const struct pl_superpacket *layout, uint32_t first, uint32_t count)
{
    return (count - 1) * layout->segment_bytes + segment_payload_bytes(layout, first + count - 1);
}

uint64_t pl_superpacket_wire_bytes(const struct pl_superpacket *layout, uint32_t first, uint32_t count)
{
    return (uint64_t)count * (layout->payload_at - layout->ip_at) + slice_payload_bytes(layout, first, count);
}

/* ---------- cutting ---------- */

static void cut_virtio(unsigned char *header, const struct pl_superpacket *layout, uint32_t first,
                       uint32_t count)
{
    struct virtio_net_hdr virtio;
    memcpy(&virtio, header, sizeof virtio);
    if (count == 1) {
        virtio.gso_type = VIRTIO_NET_HDR_GSO_NONE;
        virtio.gso_size = 0;
    } else if (first > 0) {
        virtio.gso_type &= (uint8_t)~VIRTIO_NET_HDR_GSO_ECN; /* CWR stays with the first segment */
    }
    virtio.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    virtio.hdr_len = (uint16_t)(layout->payload_at - sizeof virtio);
    virtio.csum_start = (uint16_t)(layout->transport_at - sizeof virtio);
    virtio.csum_offset = layout->udp ? UDP_CHECKSUM_AT : TCP_CHECKSUM_AT;
    memcpy(header, &virtio, sizeof virtio);
}

/* Set lengths and for IPv4 id and checksum. Returns the sum over the pseudo-header of the transport. */
static uint32_t cut_ip(unsigned char *header, const struct pl_superpacket *layout, uint32_t first,
                       uint32_t transport_bytes)
{
    unsigned char *ip = header + layout->ip_at;
    uint32_t header_bytes = layout->transport_at - layout->ip_at;
    uint32_t sum = protocol_of(layout) + transport_bytes;
    if (layout->ipv6) {
        pl_put16(ip + IPV6_PAYLOAD_LENGTH_AT, header_bytes - IPV6_HEADER_BYTES + transport_bytes);
        return pl_internet_sum(ip + IPV6_ADDRESSES_AT, IPV6_ADDRESSES_BYTES, sum);
    }
    pl_put16(ip + IPV4_TOTAL_LENGTH_AT, header_bytes + transport_bytes);
    pl_put16(ip + IPV4_ID_AT, pl_get16(ip + IPV4_ID_AT) + first);
    pl_put16(ip + IPV4_CHECKSUM_AT, 0);
    pl_put16(ip + IPV4_CHECKSUM_AT, ~pl_internet_sum(ip, header_bytes, 0));
    return pl_internet_sum(ip + IPV4_ADDRESSES_AT, IPV4_ADDRESSES_BYTES, sum);
}

static void cut_tcp(unsigned char *tcp, const struct pl_superpacket *layout, uint32_t first, uint32_t count)
{
    pl_put32(tcp + TCP_SEQUENCE_AT, pl_get32(tcp + TCP_SEQUENCE_AT) + first * layout->segment_bytes);
    if (first + count < layout->segments)
        tcp[TCP_FLAGS_AT] &= (unsigned char)~(TCP_FIN | TCP_PSH);
    if (first > 0)
        tcp[TCP_FLAGS_AT] &= (unsigned char)~TCP_CWR;
}

void pl_superpacket_cut(const unsigned char *data, const struct pl_superpacket *layout, uint32_t first,
                        uint32_t count, struct pl_slice *slice)
{
    slice->header_bytes = layout->payload_at;
    slice->payload_at = layout->payload_at + first * layout->segment_bytes;
    slice->payload_bytes = slice_payload_bytes(layout, first, count);
    memcpy(slice->header, data, layout->payload_at);
    cut_virtio(slice->header, layout, first, count);

    unsigned char *transport = slice->header + layout->transport_at;
    uint32_t transport_bytes = layout->payload_at - layout->transport_at + slice->payload_bytes;
    /* The pseudo-header alone; the device that sends the packet adds the rest. */
    uint32_t partial = cut_ip(slice->header, layout, first, transport_bytes);
    if (layout->udp) {
        pl_put16(transport + UDP_LENGTH_AT, transport_bytes);
        pl_put16(transport + UDP_CHECKSUM_AT, partial);
    } else {
        cut_tcp(transport, layout, first, count);
        pl_put16(transport + TCP_CHECKSUM_AT, partial);
    }
}
