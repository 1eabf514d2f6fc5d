#include "superpacket.h"

#include <linux/virtio_net.h>
#include <string.h>

enum {
    IP_HEADER_BYTES_MIN = 20,
    IP_TOTAL_LENGTH_AT = 2,
    IP_ID_AT = 4,
    IP_FRAGMENT_AT = 6,
    IP_PROTOCOL_AT = 9,
    IP_CHECKSUM_AT = 10,
    IP_ADDRESSES_AT = 12,
    IP_ADDRESSES_BYTES = 8,
    IP_FRAGMENT_MASK = 0x3fff, /* "more fragments" and the offset; not "don't fragment" */
    TCP_HEADER_BYTES_MIN = 20,
    TCP_SEQUENCE_AT = 4,
    TCP_DATA_OFFSET_AT = 12,
    TCP_FLAGS_AT = 13,
    TCP_CHECKSUM_AT = 16,
    TCP_FIN = 0x01,
    TCP_PSH = 0x08,
    TCP_CWR = 0x80,
    PROTOCOL_TCP = 6
};

_Static_assert(sizeof(struct virtio_net_hdr) == PL_VIRTIO_HEADER_BYTES,
               "the legacy virtio-net header has 10 bytes");

static uint32_t get16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static void put16(unsigned char *at, uint32_t value)
{
    at[0] = (unsigned char)(value >> 8);
    at[1] = (unsigned char)value;
}

static uint32_t get32(const unsigned char *at)
{
    return get16(at) << 16 | get16(at + 2);
}

static void put32(unsigned char *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value);
}

/* The ones' complement sum of RFC 1071 over an even number of bytes, folded to 16 bits. */
static uint32_t sum16(const unsigned char *at, uint32_t bytes, uint32_t sum)
{
    for (uint32_t i = 0; i < bytes; i += 2) {
        sum += get16(at + i);
    }
    while (sum >> 16 != 0) {
        sum = (sum & 0xffffU) + (sum >> 16);
    }
    return sum;
}

/* The headers from IP on; false when anything does not add up. */
static bool parse_headers(const unsigned char *data, size_t length_bytes, struct pl_superpacket *layout)
{
    if (length_bytes < layout->ip_at + (size_t)IP_HEADER_BYTES_MIN) {
        return false;
    }
    const unsigned char *ip = data + layout->ip_at;
    uint32_t ip_header_bytes = (ip[0] & 0x0fU) * 4U;
    uint32_t ip_total_bytes = get16(ip + IP_TOTAL_LENGTH_AT);
    layout->tcp_at = layout->ip_at + ip_header_bytes;
    if (ip[0] >> 4 != 4 || ip_header_bytes < IP_HEADER_BYTES_MIN || ip[IP_PROTOCOL_AT] != PROTOCOL_TCP ||
        (get16(ip + IP_FRAGMENT_AT) & IP_FRAGMENT_MASK) != 0 ||
        layout->ip_at + (size_t)ip_total_bytes > length_bytes ||
        ip_total_bytes < ip_header_bytes + TCP_HEADER_BYTES_MIN) {
        return false;
    }
    uint32_t tcp_header_bytes = (uint32_t)(data[layout->tcp_at + TCP_DATA_OFFSET_AT] >> 4) * 4U;
    if (tcp_header_bytes < TCP_HEADER_BYTES_MIN || ip_total_bytes <= ip_header_bytes + tcp_header_bytes) {
        return false;
    }
    layout->payload_at = layout->tcp_at + tcp_header_bytes;
    layout->payload_bytes = ip_total_bytes - ip_header_bytes - tcp_header_bytes;
    return layout->payload_at <= PL_SLICE_HEADER_BYTES_MAX;
}

enum pl_packet_kind pl_superpacket_parse(const unsigned char *data, size_t length_bytes,
                                         uint32_t link_header_bytes, struct pl_superpacket *layout)
{
    struct virtio_net_hdr virtio;
    if (length_bytes < sizeof virtio) {
        return PL_PACKET_PLAIN;
    }
    memcpy(&virtio, data, sizeof virtio);
    if (virtio.gso_type == VIRTIO_NET_HDR_GSO_NONE) {
        return PL_PACKET_PLAIN;
    }
    if ((virtio.gso_type & ~VIRTIO_NET_HDR_GSO_ECN) != VIRTIO_NET_HDR_GSO_TCPV4 || virtio.gso_size == 0) {
        return PL_PACKET_UNSPLIT;
    }
    memset(layout, 0, sizeof *layout);
    layout->ip_at = (uint32_t)sizeof virtio + link_header_bytes;
    if (!parse_headers(data, length_bytes, layout)) {
        return PL_PACKET_UNSPLIT;
    }
    layout->segment_bytes = virtio.gso_size;
    layout->segments = (layout->payload_bytes + layout->segment_bytes - 1) / layout->segment_bytes;
    return PL_PACKET_TCP4;
}

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
    virtio.csum_start = (uint16_t)(layout->tcp_at - sizeof virtio);
    virtio.csum_offset = TCP_CHECKSUM_AT;
    memcpy(header, &virtio, sizeof virtio);
}

void pl_superpacket_cut(const unsigned char *data, const struct pl_superpacket *layout, uint32_t first,
                        uint32_t count, struct pl_slice *slice)
{
    slice->header_bytes = layout->payload_at;
    slice->payload_at = layout->payload_at + first * layout->segment_bytes;
    slice->payload_bytes = slice_payload_bytes(layout, first, count);
    memcpy(slice->header, data, layout->payload_at);
    cut_virtio(slice->header, layout, first, count);

    unsigned char *ip = slice->header + layout->ip_at;
    unsigned char *tcp = slice->header + layout->tcp_at;
    uint32_t ip_header_bytes = layout->tcp_at - layout->ip_at;
    uint32_t tcp_bytes = layout->payload_at - layout->tcp_at + slice->payload_bytes;
    put16(ip + IP_TOTAL_LENGTH_AT, ip_header_bytes + tcp_bytes);
    put16(ip + IP_ID_AT, get16(ip + IP_ID_AT) + first);
    put16(ip + IP_CHECKSUM_AT, 0);
    put16(ip + IP_CHECKSUM_AT, ~sum16(ip, ip_header_bytes, 0) & 0xffffU);

    put32(tcp + TCP_SEQUENCE_AT, get32(tcp + TCP_SEQUENCE_AT) + first * layout->segment_bytes);
    if (first + count < layout->segments) {
        tcp[TCP_FLAGS_AT] &= (unsigned char)~(TCP_FIN | TCP_PSH);
    }
    if (first > 0) {
        tcp[TCP_FLAGS_AT] &= (unsigned char)~TCP_CWR;
    }
    /* Partial: the sum over the pseudo-header alone; whoever sends it on the wire adds the rest. */
    put16(tcp + TCP_CHECKSUM_AT, sum16(ip + IP_ADDRESSES_AT, IP_ADDRESSES_BYTES, PROTOCOL_TCP + tcp_bytes));
}
