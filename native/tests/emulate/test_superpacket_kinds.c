/* Super-packets of TCP and UDP over IPv4 and IPv6: each segment equals, byte for byte, the output of another
 * program, and every run of segments passes a receiver's checks. */
#include <stdio.h>

#include "check.h"
#include "emulate/golden_superpackets.h"
#include "emulate/ip_header.h"
#include "emulate/packets.h"
#include "emulate/superpacket.h"

enum { GOLDEN_LINK_HEADER = 14, GOLDEN_BYTES_MAX = 256 + GOLDEN_PAYLOAD };

static uint32_t decode(const char *hex, unsigned char *bytes)
{
    uint32_t count = 0;
    for (unsigned value = 0; sscanf(hex + (size_t)2 * count, "%2x", &value) == 1; count++)
        bytes[count] = (unsigned char)value;
    return count;
}

/* Builds the super-packet as the kernel delivers it; returns its length. */
static uint32_t build_golden(const struct golden *golden, unsigned char data[GOLDEN_BYTES_MAX])
{
    memset(data, 0, GOLDEN_BYTES_MAX);
    bool udp = golden->gso_type == GSO_UDP_L4;
    uint32_t header_bytes = decode(golden->whole, data + PL_VIRTIO_HEADER_BYTES);
    struct virtio_net_hdr virtio = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = (uint8_t)golden->gso_type,
        .hdr_len = (uint16_t)header_bytes,
        .gso_size = GOLDEN_SEGMENT,
        .csum_start = (uint16_t)golden->transport_at,
        .csum_offset = udp ? 6 : 16,
    };
    memcpy(data, &virtio, sizeof virtio);
    uint32_t payload_at = PL_VIRTIO_HEADER_BYTES + header_bytes;
    for (uint32_t i = 0; i < GOLDEN_PAYLOAD; i++)
        data[payload_at + i] = (unsigned char)(i * 31 + i / 256);
    return payload_at + GOLDEN_PAYLOAD;
}

/* Builds a slice as one packet, with the checksum completed. Returns its length. */
static uint32_t assemble(const unsigned char *data, const struct pl_slice *slice, unsigned char *packet)
{
    memcpy(packet, slice->header, slice->header_bytes);
    memcpy(packet + slice->header_bytes, data + slice->payload_at, slice->payload_bytes);
    struct virtio_net_hdr virtio;
    memcpy(&virtio, packet, sizeof virtio);
    uint32_t start = PL_VIRTIO_HEADER_BYTES + virtio.csum_start;
    uint32_t length = slice->header_bytes + slice->payload_bytes;
    put(packet + start + virtio.csum_offset, 0xffffU - ones_sum(packet + start, length - start), 2);
    return length;
}

static void check_golden_segments(const struct golden *golden)
{
    unsigned char data[GOLDEN_BYTES_MAX];
    struct pl_superpacket layout;
    uint32_t length = build_golden(golden, data);
    CHECK_EQUAL(pl_superpacket_parse(data, length, GOLDEN_LINK_HEADER, &layout), PL_PACKET_SUPER);
    CHECK_EQUAL(layout.segments, GOLDEN_SEGMENTS);
    CHECK_EQUAL(layout.transport_at, PL_VIRTIO_HEADER_BYTES + golden->transport_at);
    for (uint32_t i = 0; i < GOLDEN_SEGMENTS; i++) {
        unsigned char wanted[GOLDEN_BYTES_MAX];
        unsigned char packet[GOLDEN_BYTES_MAX];
        struct pl_slice slice;
        pl_superpacket_cut(data, &layout, i, 1, &slice);
        (void)assemble(data, &slice, packet);
        CHECK_EQUAL(slice.header_bytes - PL_VIRTIO_HEADER_BYTES, decode(golden->segments[i], wanted));
        CHECK(memcmp(packet + PL_VIRTIO_HEADER_BYTES, wanted, slice.header_bytes - PL_VIRTIO_HEADER_BYTES) ==
              0);
        CHECK_EQUAL(pl_superpacket_segment_ip_bytes(&layout, i),
                    slice.header_bytes - PL_VIRTIO_HEADER_BYTES - GOLDEN_LINK_HEADER + slice.payload_bytes);
    }
}

/* A receiver's checks from IP on: the lengths in the headers and the checksums. */
static void check_received(const unsigned char *ip, uint32_t ip_bytes, uint32_t transport_at, bool udp)
{
    uint32_t transport_bytes = ip_bytes - transport_at;
    uint64_t pseudo = (udp ? 17U : 6U) + transport_bytes;
    if (ip[0] >> 4 == 4) {
        CHECK_EQUAL(get(ip + 2, 2), ip_bytes);
        CHECK_EQUAL(ones_sum(ip, 20) % 0xffff, 0);
        pseudo += ones_sum(ip + 12, 8);
    } else {
        CHECK_EQUAL(get(ip + 4, 2), ip_bytes - 40);
        pseudo += ones_sum(ip + 8, 32);
    }
    if (udp)
        CHECK_EQUAL(get(ip + transport_at + 4, 2), transport_bytes);
    CHECK_EQUAL((pseudo + ones_sum(ip + transport_at, transport_bytes)) % 0xffff, 0);
}

/* Runs of segments, marked or not, are valid packets. */
static void check_golden_runs(const struct golden *golden)
{
    unsigned char data[GOLDEN_BYTES_MAX];
    struct pl_superpacket layout;
    uint32_t length = build_golden(golden, data);
    bool udp = golden->gso_type == GSO_UDP_L4;
    CHECK_EQUAL(pl_superpacket_parse(data, length, GOLDEN_LINK_HEADER, &layout), PL_PACKET_SUPER);
    for (uint32_t first = 0; first < GOLDEN_SEGMENTS; first++) {
        for (uint32_t count = 1; first + count <= GOLDEN_SEGMENTS; count++) {
            struct pl_slice slice;
            unsigned char packet[GOLDEN_BYTES_MAX];
            pl_superpacket_cut(data, &layout, first, count, &slice);
            unsigned char *ip = slice.header + layout.ip_at;
            CHECK(pl_ip_ecn(ip, slice.header_bytes - layout.ip_at) ==
                  (layout.ipv6 ? PL_ECN_ECT1 : PL_ECN_ECT0));
            pl_ip_mark_ce(ip);
            CHECK(pl_ip_ecn(ip, slice.header_bytes - layout.ip_at) == PL_ECN_CE);
            uint32_t bytes = assemble(data, &slice, packet);
            check_received(packet + layout.ip_at, bytes - layout.ip_at, layout.transport_at - layout.ip_at,
                           udp);
            struct virtio_net_hdr virtio;
            memcpy(&virtio, packet, sizeof virtio);
            CHECK_EQUAL(virtio.gso_type, count == 1 ? VIRTIO_NET_HDR_GSO_NONE : golden->gso_type);
            CHECK_EQUAL(virtio.gso_size, count == 1 ? 0 : GOLDEN_SEGMENT);
            CHECK_EQUAL(virtio.hdr_len, slice.header_bytes - PL_VIRTIO_HEADER_BYTES);
        }
    }
}

/* Every truncated packet passes as one packet, and nothing behind it is read. */
static void check_golden_cut_short(const struct golden *golden)
{
    unsigned char data[GOLDEN_BYTES_MAX];
    struct pl_superpacket layout;
    uint32_t length = build_golden(golden, data);
    for (size_t short_bytes = PL_VIRTIO_HEADER_BYTES; short_bytes < length; short_bytes++)
        CHECK_EQUAL(parse_copy(data, short_bytes, GOLDEN_LINK_HEADER, &layout), PL_PACKET_UNSPLIT);
}

/* Headers that are not cut: other kinds of segmentation, extension headers, inconsistent lengths. */
static void check_golden_malformed(void)
{
    enum { IP6 = PL_VIRTIO_HEADER_BYTES + GOLDEN_LINK_HEADER, OPTIONS = IP6 + 40 };
    static const struct {
        unsigned golden;
        int at;
        unsigned char value;
    } cases[] = {
        {1, 1, VIRTIO_NET_HDR_GSO_TCPV4}, /* of the other family */
        {0, 1, VIRTIO_NET_HDR_GSO_TCPV6},
        {4, 1, VIRTIO_NET_HDR_GSO_UDP},          /* fragments, not datagrams */
        {1, 1, VIRTIO_NET_HDR_GSO_TCPV6 | 0x20}, /* inside a tunnel */
        {1, IP6 + 6, 44},                        /* a fragment */
        {1, IP6 + 6, 43},                        /* a routing header: the checksum covers another address */
        {1, IP6 + 6, 17},
        {4, IP6 + 6, 6},
        {2, OPTIONS + 1, 255}, /* options beyond the end */
        {2, OPTIONS + 1, 40},  /* options longer than the slice header */
        {2, OPTIONS, 59},      /* no next header */
        {3, IP6 + 20 + 5, 8},  /* UDP's own length */
        {4, OPTIONS + 5, 9},
        {1, IP6 + 4, 0xff}, /* longer than the packet */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned char data[GOLDEN_BYTES_MAX];
        struct pl_superpacket layout;
        uint32_t length = build_golden(&GOLDEN[cases[i].golden], data);
        data[cases[i].at] = cases[i].value;
        CHECK_EQUAL(parse_copy(data, length, GOLDEN_LINK_HEADER, &layout), PL_PACKET_UNSPLIT);
    }
}

/* Randomly damaged headers: accepted layouts lie within the packet. */
static void check_damaged(const struct golden *golden)
{
    unsigned char data[GOLDEN_BYTES_MAX];
    uint64_t state = 7;
    unsigned accepted = 0;
    for (int round = 0; round < 20000; round++) {
        uint32_t length = build_golden(golden, data);
        for (int i = 0; i < 3; i++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            data[(state >> 33) % (length - GOLDEN_PAYLOAD)] = (unsigned char)(state >> 56);
        }
        struct pl_superpacket layout;
        length -= (state >> 45) % 2 == 0 ? 0 : (uint32_t)(state >> 40) % GOLDEN_PAYLOAD;
        if (pl_superpacket_parse(data, length, GOLDEN_LINK_HEADER, &layout) == PL_PACKET_SUPER) {
            struct pl_slice slice;
            pl_superpacket_cut(data, &layout, layout.segments - 1, 1, &slice);
            CHECK((size_t)slice.payload_at + slice.payload_bytes <= length);
            CHECK(slice.header_bytes <= PL_SLICE_HEADER_BYTES_MAX);
            accepted++;
        }
    }
    CHECK(accepted > 1000); /* some packets were accepted */
}

int main(void)
{
    for (size_t i = 0; i < sizeof GOLDEN / sizeof GOLDEN[0]; i++) {
        check_golden_segments(&GOLDEN[i]);
        check_golden_runs(&GOLDEN[i]);
        check_golden_cut_short(&GOLDEN[i]);
        check_damaged(&GOLDEN[i]);
    }
    check_golden_malformed();
    CHECK_RETURN();
}
