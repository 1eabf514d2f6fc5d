/* Cutting super-packets of TCP over IPv4: every partition carries the same bytes, with headers that a
 * receiver accepts. */
#include <linux/virtio_net.h>

#include "check.h"
#include "emulate/packets.h"
#include "emulate/superpacket.h"

enum {
    LINK_HEADER = 14,
    IP_AT = PL_VIRTIO_HEADER_BYTES + LINK_HEADER,
    TCP_AT = IP_AT + 20,
    PAYLOAD_AT = TCP_AT + 32, /* with timestamps */
    MSS = 1448,
    SEGMENTS = 5,
    LAST_BYTES = 100,
    PAYLOAD = (SEGMENTS - 1) * MSS + LAST_BYTES,
    LENGTH = PAYLOAD_AT + PAYLOAD,
    FIRST_ID = 0xfffe,
    FIN_PSH_ACK_CWR = 0x99
};
static const uint32_t FIRST_SEQUENCE = 0xfffff000U; /* wraps within the packet */

static void build(unsigned char data[LENGTH])
{
    memset(data, 0, LENGTH);
    struct virtio_net_hdr virtio = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = VIRTIO_NET_HDR_GSO_TCPV4 | VIRTIO_NET_HDR_GSO_ECN,
        .hdr_len = PAYLOAD_AT - PL_VIRTIO_HEADER_BYTES,
        .gso_size = MSS,
        .csum_start = TCP_AT - PL_VIRTIO_HEADER_BYTES,
        .csum_offset = 16,
    };
    memcpy(data, &virtio, sizeof virtio);
    put(data + IP_AT - 2, 0x0800, 2);
    unsigned char *ip = data + IP_AT;
    ip[0] = 0x45;
    put(ip + 2, 20 + 32 + PAYLOAD, 2);
    put(ip + 4, FIRST_ID, 2);
    put(ip + 6, 0x4000, 2); /* don't fragment */
    ip[8] = 64;
    ip[9] = 6;
    put(ip + 12, 0x0a000001, 4);
    put(ip + 16, 0xc0a8fe02, 4);
    unsigned char *tcp = data + TCP_AT;
    put(tcp, 40000, 2);
    put(tcp + 2, 5001, 2);
    put(tcp + 4, FIRST_SEQUENCE, 4);
    put(tcp + 8, 0x12345678, 4);
    tcp[12] = 8 << 4;
    tcp[13] = FIN_PSH_ACK_CWR;
    put(tcp + 14, 512, 2);
    for (int i = 0; i < PAYLOAD; i++)
        data[PAYLOAD_AT + i] = (unsigned char)(i * 31 + i / 256);
}

static void check_checksums(const unsigned char *ip, const unsigned char *tcp, uint32_t tcp_header_bytes,
                            const unsigned char *payload, uint32_t payload_bytes)
{
    CHECK_EQUAL(ones_sum(ip, 20) % 0xffff, 0); /* all ones is zero */
    /* Completes a partial checksum as a device does: the complemented sum from csum_start to the end, at
     * csum_offset. */
    unsigned char complete[64 + PAYLOAD];
    memcpy(complete, tcp, tcp_header_bytes);
    memcpy(complete + tcp_header_bytes, payload, payload_bytes);
    uint32_t checksum = 0xffffU - ones_sum(complete, tcp_header_bytes + payload_bytes);
    put(complete + 16, checksum, 2);
    /* A receiver's checks. */
    uint32_t pseudo = ones_sum(ip + 12, 8) + 6 + tcp_header_bytes + payload_bytes;
    CHECK_EQUAL((pseudo + ones_sum(complete, tcp_header_bytes + payload_bytes)) % 0xffff, 0);
}

static void check_slice(const unsigned char *data, const struct pl_superpacket *layout, uint32_t first,
                        uint32_t count)
{
    struct pl_slice slice;
    pl_superpacket_cut(data, layout, first, count, &slice);
    bool last = first + count == SEGMENTS;
    uint32_t bytes = last ? (count - 1) * MSS + LAST_BYTES : count * MSS;
    CHECK_EQUAL(slice.header_bytes, PAYLOAD_AT);
    CHECK_EQUAL(slice.payload_at, PAYLOAD_AT + first * MSS);
    CHECK_EQUAL(slice.payload_bytes, bytes);
    CHECK_EQUAL(pl_superpacket_wire_bytes(layout, first, count), bytes + count * 52);

    const unsigned char *ip = slice.header + IP_AT;
    const unsigned char *tcp = slice.header + TCP_AT;
    CHECK_EQUAL(get(ip + 2, 2), 52 + bytes);
    CHECK_EQUAL(get(ip + 4, 2), (FIRST_ID + first) & 0xffff);
    CHECK_EQUAL(get(tcp + 4, 4), FIRST_SEQUENCE + first * MSS);
    CHECK_EQUAL(tcp[13], 0x10 | (last ? 0x09 : 0) | (first == 0 ? 0x80 : 0));
    check_checksums(ip, tcp, 32, data + slice.payload_at, slice.payload_bytes);

    struct virtio_net_hdr virtio;
    memcpy(&virtio, slice.header, sizeof virtio);
    int many = VIRTIO_NET_HDR_GSO_TCPV4 | (first == 0 ? VIRTIO_NET_HDR_GSO_ECN : 0);
    CHECK_EQUAL(virtio.gso_type, count == 1 ? VIRTIO_NET_HDR_GSO_NONE : many);
    CHECK_EQUAL(virtio.gso_size, count == 1 ? 0 : MSS);
    CHECK_EQUAL(virtio.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
    CHECK_EQUAL(virtio.csum_start, TCP_AT - PL_VIRTIO_HEADER_BYTES);
    CHECK_EQUAL(virtio.csum_offset, 16);
    CHECK_EQUAL(virtio.hdr_len, PAYLOAD_AT - PL_VIRTIO_HEADER_BYTES);
    /* Options and other fields that are not rewritten. */
    CHECK(memcmp(tcp + 8, data + TCP_AT + 8, 4) == 0 && memcmp(tcp + 20, data + TCP_AT + 20, 12) == 0);
}

static void check_slicing(void)
{
    unsigned char data[LENGTH];
    build(data);
    struct pl_superpacket layout;
    CHECK_EQUAL(pl_superpacket_parse(data, LENGTH, LINK_HEADER, &layout), PL_PACKET_SUPER);
    CHECK_EQUAL(layout.segments, SEGMENTS);
    CHECK_EQUAL(layout.payload_bytes, PAYLOAD);
    for (uint32_t i = 0; i < SEGMENTS; i++)
        CHECK_EQUAL(pl_superpacket_segment_ip_bytes(&layout, i), i == SEGMENTS - 1 ? 52 + LAST_BYTES : 1500);
    for (uint32_t first = 0; first < SEGMENTS; first++)
        for (uint32_t count = 1; first + count <= SEGMENTS; count++)
            check_slice(data, &layout, first, count);
}

static void check_whole_multiple(void)
{
    unsigned char data[LENGTH];
    build(data);
    put(data + IP_AT + 2, 52 + 2 * MSS, 2); /* padding follows */
    struct pl_superpacket layout;
    CHECK_EQUAL(pl_superpacket_parse(data, LENGTH, LINK_HEADER, &layout), PL_PACKET_SUPER);
    CHECK_EQUAL(layout.segments, 2);
    CHECK_EQUAL(pl_superpacket_segment_ip_bytes(&layout, 1), 1500);
}

static void check_malformed(void)
{
    unsigned char data[LENGTH];
    build(data);
    struct pl_superpacket layout;
    for (size_t length = 0; length < LENGTH; length++) {
        enum pl_packet_kind kind = parse_copy(data, length, LINK_HEADER, &layout);
        CHECK_EQUAL(kind, length < PL_VIRTIO_HEADER_BYTES ? PL_PACKET_PLAIN : PL_PACKET_UNSPLIT);
    }
    static const struct {
        int at;
        unsigned char value;
        enum pl_packet_kind kind;
    } cases[] = {
        {1, VIRTIO_NET_HDR_GSO_NONE, PL_PACKET_PLAIN},
        {1, VIRTIO_NET_HDR_GSO_TCPV6, PL_PACKET_UNSPLIT},
        {1, VIRTIO_NET_HDR_GSO_UDP, PL_PACKET_UNSPLIT},
        {1, 5, PL_PACKET_UNSPLIT}, /* UDP_L4 with TCP */
        {IP_AT, 0x44, PL_PACKET_UNSPLIT},
        {IP_AT, 0x65, PL_PACKET_UNSPLIT},
        {IP_AT + 6, 0x20, PL_PACKET_UNSPLIT}, /* a fragment */
        {IP_AT + 9, 17, PL_PACKET_UNSPLIT},
        {TCP_AT + 12, 0x40, PL_PACKET_UNSPLIT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build(data);
        data[cases[i].at] = cases[i].value;
        CHECK_EQUAL(parse_copy(data, LENGTH, LINK_HEADER, &layout), cases[i].kind);
    }
    build(data);
    memset(data + 4, 0, 2); /* gso_size */
    CHECK_EQUAL(parse_copy(data, LENGTH, LINK_HEADER, &layout), PL_PACKET_UNSPLIT);
    build(data);
    put(data + IP_AT + 2, 52, 2); /* no payload */
    CHECK_EQUAL(parse_copy(data, LENGTH, LINK_HEADER, &layout), PL_PACKET_UNSPLIT);
}

int main(void)
{
    check_slicing();
    check_whole_multiple();
    check_malformed();
    CHECK_RETURN();
}
