/* Frames behind a virtio-net header, as a device delivers them: parsed, cut and marked. The first byte
 * selects whether an Ethernet header precedes IP, and where the super-packet is cut. */
#include <string.h>

#include "base/bytes.h"
#include "emulate/ip_header.h"
#include "emulate/superpacket.h"
#include "property.h"

enum { ETHERNET_HEADER_BYTES = 14, IPV4_HEADER_BYTES = 20, MAX_BYTES = 66560 };

static void check_slice(const uint8_t *frame, const struct pl_superpacket *layout, uint32_t first,
                        uint32_t count)
{
    struct pl_slice slice;
    uint32_t headers = layout->payload_at - layout->ip_at;
    uint32_t sum = 0;
    pl_superpacket_cut(frame, layout, first, count, &slice);
    for (uint32_t i = first; i < first + count; i++)
        sum += pl_superpacket_segment_ip_bytes(layout, i) - headers;
    REQUIRE(slice.payload_bytes == sum && sum >= 1);
    REQUIRE(slice.header_bytes == layout->payload_at && slice.header_bytes <= PL_SLICE_HEADER_BYTES_MAX);
    REQUIRE(slice.payload_at == layout->payload_at + first * layout->segment_bytes);
    REQUIRE(slice.payload_at + slice.payload_bytes <= layout->payload_at + layout->payload_bytes);
    REQUIRE(pl_superpacket_wire_bytes(layout, first, count) == sum + (uint64_t)count * headers);
    const unsigned char *ip = slice.header + layout->ip_at;
    if (layout->ipv6) {
        REQUIRE(40 + pl_get16(ip + 4) == headers + slice.payload_bytes);
    } else {
        REQUIRE(pl_get16(ip + 2) == headers + slice.payload_bytes);
        REQUIRE(pl_internet_sum(ip, layout->transport_at - layout->ip_at, 0) == 0xffff);
    }
}

/* Marking sets CE and keeps the validity of IPv4's checksum. */
static void check_marking(const uint8_t *packet, size_t bytes)
{
    unsigned char header[40] = {0};
    enum pl_ecn ecn = pl_ip_ecn(packet, bytes);
    if (ecn == PL_ECN_NOT_CAPABLE || ecn == PL_ECN_CE)
        return;
    memcpy(header, packet, bytes < sizeof header ? bytes : sizeof header);
    uint32_t before = pl_internet_sum(header, IPV4_HEADER_BYTES, 0);
    pl_ip_mark_ce(header);
    REQUIRE(pl_ip_ecn(header, bytes) == PL_ECN_CE);
    if (header[0] >> 4 == 4)
        REQUIRE(pl_internet_sum(header, IPV4_HEADER_BYTES, 0) % 0xffff == before % 0xffff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_superpacket layout;
    if (size == 0 || size > MAX_BYTES)
        return 0;
    uint32_t link_bytes = (data[0] & 1) != 0 ? ETHERNET_HEADER_BYTES : 0;
    const uint8_t *frame = data + 1;
    size_t bytes = size - 1;
    size_t ip_at = PL_VIRTIO_HEADER_BYTES + (size_t)link_bytes;
    if (bytes > ip_at)
        check_marking(frame + ip_at, bytes - ip_at);
    enum pl_packet_kind kind = pl_superpacket_parse(frame, bytes, link_bytes, &layout);
    REQUIRE(bytes >= PL_VIRTIO_HEADER_BYTES || kind == PL_PACKET_PLAIN);
    if (kind != PL_PACKET_SUPER)
        return 0;
    REQUIRE(layout.segments >= 1 && layout.segments <= layout.payload_bytes);
    REQUIRE((size_t)layout.payload_at + layout.payload_bytes <= bytes);
    uint32_t cut = (uint32_t)(data[0] >> 1) % layout.segments;
    check_slice(frame, &layout, 0, layout.segments);
    check_slice(frame, &layout, cut, 1);
    check_slice(frame, &layout, cut, layout.segments - cut);
    if (cut > 0)
        check_slice(frame, &layout, 0, cut);
    return 0;
}
